// Operators on the critical path are split where the plan gets faster by it, and nowhere else.
#include "partitiontuner/engine/critical_splits.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <set>

#include "partitiontuner/engine/verify.h"
#include "partitiontuner/support/file.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::testing::critical_splits_test {
namespace {

constexpr int kFloat = 1;  // of TensorProto.DataType
constexpr int64_t kChannels = 64, kSize = 14, kKernel = 5;

// x ─ Conv ─ Relu ─ y, on a host that knows plain loops alone and beside so many equal accelerators.
class Scene {
 public:
  Scene(bool convolution, int accelerators) {
    const std::vector<std::string> dims = {"1", "64", "14", "14"};
    GraphParts graph;
    graph.inputs = {ValueInfo("x", kFloat, dims)};
    graph.outputs = {ValueInfo("y", kFloat, dims)};
    if (convolution) {
      std::vector<float> weights(kChannels * kChannels * kKernel * kKernel);
      for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.05F * std::sin(static_cast<float>(i));
      graph.initializers = {FloatTensor("w", {kChannels, kChannels, kKernel, kKernel}, weights)};
      graph.nodes = {NodeBytes("Conv", {"x", "w"}, {"c"}, {IntsAttribute("pads", {2, 2, 2, 2})}),
                     NodeBytes("Relu", {"c"}, {"y"})};
    } else {
      graph.nodes = {NodeBytes("Relu", {"x"}, {"y"})};
    }
    std::ofstream(model_path(), std::ios::binary) << ModelBytes(graph);
    EngineOptions options;
    options.db_path = folder_.path() + "/profile.db";
    options.machine.plugins = {"none"};
    options.machine.max_cores = 1;
    options.machine.libraries = {"reference", "simulated"};
    for (int i = 0; i < accelerators; ++i) options.machine.platform_files.push_back(Accelerator(i));
    Result<std::unique_ptr<Engine>> made = Engine::Make(options);
    if (!made.ok()) FAIL(ToString(made.error()));
    engine = *std::move(made);
    planning.margin = SplitMargin::kNone;
    splitting.trials = 1;
    splitting.measure.max_time_per_key = std::chrono::milliseconds(1);
    splitting.measure.max_noise = 0.5;
    model = engine->Load(model_path(), {}).value();
    REQUIRE(engine->MeasureModel(*model, splitting.measure, {}).ok());
  }

  Result<SplitPlan> Plan() { return PlanWithSplits(*engine, model, planning, splitting); }

  std::vector<float> Run(const Model& with, const pt::Plan& plan) {
    const Result<std::unique_ptr<Session>> session = engine->MakeSession(with, plan);
    if (!session.ok()) FAIL(ToString(session.error()));
    constexpr size_t kCount = kChannels * kSize * kSize;
    std::vector<float> input(kCount), output(kCount, -1.0F);
    for (size_t i = 0; i < kCount; ++i) input[i] = std::cos(static_cast<float>(i));
    const LentTensor in{DataType::kFloat32, {1, kChannels, kSize, kSize}, input.data(), kCount * 4};
    const LentTensor out{DataType::kFloat32, {1, kChannels, kSize, kSize}, output.data(), kCount * 4};
    REQUIRE((*session)->Run({&in, 1}, {&out, 1}).ok());
    return output;
  }

  std::unique_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
  PlanOptions planning;
  SplitOptions splitting;

 private:
  std::string model_path() const { return folder_.path() + "/model.onnx"; }

  std::string Accelerator(int number) const {
    const std::string path = folder_.path() + "/acc" + std::to_string(number) + ".json";
    std::ofstream(path) << R"({"version": 1, "name": "sim:)" << number
                        << R"(", "memory_bytes": 1073741824, "streams": 1,
      "to_device": {"latency_ns": 10000, "bytes_per_ns": 8.0}, "from_device": {"latency_ns": 10000, "bytes_per_ns": 8.0},
      "families": {"Conv": {"fixed_ns": 15000, "flops_per_ns": 100, "bytes_per_ns": 200},
                   "*": {"fixed_ns": 15000, "flops_per_ns": 100, "bytes_per_ns": 100}},
      "exact_ns": {}, "unsupported": []})";
    return path;
  }

  TemporaryFolder folder_;
};

std::set<DeviceId> DevicesOfConvolutions(const Graph& graph, const Platform& platform, const pt::Plan& plan) {
  std::set<DeviceId> devices;
  for (const Step& step : plan.steps) {
    const auto* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr) continue;
    for (const NodeId node : plan.candidates[group->candidate.index()].nodes) {
      if (graph.node(node).op == "Conv") devices.insert(platform.device_of(step.unit));
    }
  }
  return devices;
}

TEST_CASE("CriticalSplits, TwoEqualDevicesShareAConvolution", "[engine]") {
  Scene scene(true, 2);
  const Result<SplitPlan> splits = scene.Plan();
  if (!splits.ok()) FAIL(ToString(splits.error()));
  REQUIRE(splits->trials.size() == 1);
  const SplitTrial& trial = splits->trials[0];
  CHECK(trial.kept);
  CHECK(trial.split == NodeSplit{"c", 2, SplitAxis::kChannels});
  CHECK(trial.makespan_ns < trial.before_ns);
  CHECK(splits->plan.makespan.ns == trial.makespan_ns);
  CHECK(ToString(splits->model->rewrites) == "split=c:2");
  CHECK(splits->plan.made_for.settings.at("rewrite") == "split=c:2");
  CHECK(DevicesOfConvolutions(*splits->model->graph, scene.engine->machine().platform(), splits->plan).size() == 2);

  const pt::Plan whole = scene.engine->MakePlan(*scene.model, scene.planning).value();
  const std::vector<float> want = scene.Run(*scene.model, whole), got = scene.Run(*splits->model, splits->plan);
  for (size_t i = 0; i < want.size(); ++i) REQUIRE(std::fabs(want[i] - got[i]) <= 1e-4F);
}

TEST_CASE("CriticalSplits, WhatGainsNothingIsTriedAndLeft", "[engine]") {
  Scene scene(true, 1);
  scene.splitting.trials = 10;
  scene.splitting.least_gain = 0.9;  // halves may gain a little: one is copied while the other is computed
  const SplitPlan splits = scene.Plan().value();
  REQUIRE(splits.trials.size() == 2);
  CHECK(splits.trials[0].split.axis == SplitAxis::kChannels);
  CHECK(splits.trials[1].split.axis == SplitAxis::kRows);
  for (const SplitTrial& trial : splits.trials) CHECK_FALSE(trial.kept);
  CHECK(splits.model == scene.model);
  CHECK(splits.plan.makespan.ns == scene.engine->MakePlan(*scene.model, scene.planning)->makespan.ns);
}

TEST_CASE("CriticalSplits, APathWithNothingToSplitIsThePlanItself", "[engine]") {
  Scene scene(false, 1);
  const SplitPlan splits = scene.Plan().value();
  CHECK(splits.trials.empty());
  CHECK(splits.model == scene.model);
}

TEST_CASE("CriticalSplits, WhatARewrittenGraphWouldNotKnowIsRefused", "[engine]") {
  Scene scene(false, 1);
  const auto refused = [&](auto change) {
    const auto model = std::make_shared<Model>(*scene.model);
    PlanOptions planning = scene.planning;
    SplitOptions splitting = scene.splitting;
    change(*model, planning, splitting);
    const auto plan = PlanWithSplits(*scene.engine, model, planning, splitting);
    return !plan.ok() && plan.error().code == ErrorCode::kUsage;
  };
  const Profile profile;
  CHECK_FALSE(refused([](Model&, PlanOptions&, SplitOptions&) {}));
  CHECK(refused([](Model& m, PlanOptions&, SplitOptions&) { m.rewrites.requests = 2; }));
  CHECK(refused([](Model& m, PlanOptions&, SplitOptions&) { m.rewrites.time_slices = 2; }));
  CHECK(refused([](Model&, PlanOptions& p, SplitOptions&) { p.constraints.in_fp32 = {NodeId(0u)}; }));
  CHECK(refused([&](Model&, PlanOptions& p, SplitOptions&) { p.profile = &profile; }));
  CHECK(refused([](Model&, PlanOptions&, SplitOptions& s) { s.parts = 1; }));
}

TEST_CASE("CriticalSplits, MeasuringThatIsStoppedEndsIt", "[engine]") {
  Scene scene(true, 2);
  CancelToken cancel;
  cancel.Cancel();
  scene.splitting.measure.cancel = &cancel;
  const Result<SplitPlan> splits = scene.Plan();
  REQUIRE_FALSE(splits.ok());
  CHECK(splits.error().code == ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace pt::testing::critical_splits_test
