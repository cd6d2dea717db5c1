// Plans of a host and a simulated NPU, from the file of a model to numbers, by every planner that knows devices.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <random>
#include <set>

#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/engine/engine.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/plan/plan_precision.h"
#include "test/cost/sample_problem.h"
#include "test/testing/built_in.h"
#include "test/testing/onnx_bytes.h"

namespace pt::npu_plans_test {
namespace {

constexpr int kFloat = 1;  // of TensorProto.DataType
constexpr int64_t kImage = 3 * 32 * 32;

// Conv ─ Relu ─ Conv ─ Relu ─ Tanh ─ Conv ─ GlobalAveragePool: two islands and what the device does not take.
std::string ModelWithIslands() {
  namespace wire = testing;
  wire::GraphParts graph;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-0.3F, 0.3F);
  const auto weights = [&](const char* name, const std::vector<int64_t>& dims) {
    std::vector<float> values(static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
    for (float& value : values) value = uniform(random);
    graph.initializers.push_back(wire::FloatTensor(name, dims, values));
  };
  weights("w1", {32, 3, 3, 3});
  weights("w2", {32, 32, 3, 3});
  weights("w3", {32, 32, 3, 3});
  graph.inputs = {wire::ValueInfo("x", kFloat, {"1", "3", "32", "32"})};
  graph.outputs = {wire::ValueInfo("y", kFloat, {"1", "32", "1", "1"})};
  const std::vector<wire::Wire> pads = {wire::IntsAttribute("pads", {1, 1, 1, 1})};
  graph.nodes = {
      wire::NodeBytes("Conv", {"x", "w1"}, {"a"}, pads),
      wire::NodeBytes("Relu", {"a"}, {"b"}),
      wire::NodeBytes("Conv", {"b", "w2"}, {"c"}, pads),
      wire::NodeBytes("Relu", {"c"}, {"d"}),
      wire::NodeBytes("Tanh", {"d"}, {"e"}),
      wire::NodeBytes("Conv", {"e", "w3"}, {"f"}, pads),
      wire::NodeBytes("GlobalAveragePool", {"f"}, {"y"}),
  };
  return wire::ModelBytes(graph);
}

// Convolutions take next to nothing there.
constexpr const char* kNpu = R"({
  "version": 1, "name": "npu:0", "memory_bytes": 100000000, "streams": 2,
  "calls": {"operators": ["Conv", "GlobalAveragePool", "Relu"], "least_flops": 1000000,
            "islands": true, "math": "fp16"},
  "call_ns": 1000,
  "to_device": {"latency_ns": 100, "bytes_per_ns": 50.0}, "from_device": {"latency_ns": 100, "bytes_per_ns": 50.0},
  "families": {"*": {"fixed_ns": 10, "flops_per_ns": 100000, "bytes_per_ns": 1000}}})";

struct Scene {
  explicit Scene(bool npu) {
    const std::string path = folder.file("model.onnx");
    std::ofstream(path, std::ios::binary) << ModelWithIslands();
    EngineOptions options;
    options.machine.libraries = {"reference"};
    options.db_path = folder.file("profile.db");
    if (npu) {
      std::ofstream(folder.file("npu.json")) << kNpu;
      options.machine.libraries.push_back("simulated");
      options.machine.platform_files = {folder.file("npu.json")};
    }
    engine = Engine::Make(options).value();
    ModelOptions model_options;
    model_options.precision = Precision({MathMode::kFp16});
    model = engine->Load(path, model_options).value();
    MeasureOptions fast;
    fast.max_time_per_key = std::chrono::milliseconds(5);
    fast.max_noise = 0.5;
    const Result<MeasureReport> report = engine->MeasureModel(*model, fast, {});
    if (!report.ok()) FAIL(ToString(report.error()));
  }

  std::vector<float> Run(const Plan& plan, const SessionOptions& options = {}) const {
    const Result<std::unique_ptr<Session>> session = engine->MakeSession(*model, plan, options);
    if (!session.ok()) FAIL(ToString(session.error()));
    std::vector<float> input(kImage), output(32, -1.0F);
    for (size_t i = 0; i < input.size(); ++i) input[i] = std::sin(static_cast<float>(i));
    const LentTensor in{DataType::kFloat32, {1, 3, 32, 32}, input.data(), input.size() * 4};
    const LentTensor out{DataType::kFloat32, {1, 32, 1, 1}, output.data(), output.size() * 4};
    const Result<RunReport> report = (*session)->Run({&in, 1}, {&out, 1});
    if (!report.ok()) FAIL(ToString(report.error()));
    return output;
  }

  TemporaryFolder folder;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
};

TEST_CASE("NpuPlans, EveryPlannerUsesTheDeviceWithinItsRules", "[engine]") {
  const Scene scene(true), plain(false);
  const std::vector<float> expected = plain.Run(plain.engine->MakeDefaultPlan(*plain.model).value());
  double most = 0;
  for (const float value : expected) most = std::max(most, std::abs(static_cast<double>(value)));
  const Graph& graph = *scene.model->graph;
  const Machine& machine = scene.engine->machine();
  const Platform& platform = machine.platform();
  int64_t search_ns = 0;
  for (const char* planner :
       {"search", "static-type", "per-op", "tuned-ops", "partitiontuner", "duet", "heft", "random:1"}) {
    INFO(planner);
    PlanOptions options;
    options.planner = planner;
    options.margin = SplitMargin::kNone;
    const Result<Plan> plan = scene.engine->MakePlan(*scene.model, options);
    if (!plan.ok()) FAIL(ToString(plan.error()));
    CHECK(JudgePlan(graph, platform, machine.libraries(), *plan).may_run());
    size_t calls = 0;
    for (const Step& step : plan->steps) {
      const auto* group = std::get_if<RunGroup>(&step.work);
      if (group == nullptr || IsHost(platform.device_of(step.unit))) continue;
      const Candidate& candidate = plan->candidates[group->candidate.index()];
      CHECK(candidate.math == MathMode::kFp16);
      CHECK_FALSE(WhyNoCall(graph, platform, candidate));
      ++calls;
    }
    const std::string name = planner;
    if (name == "search") search_ns = plan->makespan.ns;
    CHECK(plan->makespan.ns >= search_ns);
    // What computes nearly for nothing is used: two islands by those that know groups.
    if (name == "search") CHECK(calls == 2);
    if (name != "random:1" && name != "tuned-ops") CHECK(calls > 0);
    const std::vector<float> output = scene.Run(*plan);
    const double tolerance = RelativeTolerance(LoosestMath(*plan), DataType::kFloat32) * most;
    for (size_t i = 0; i < output.size(); ++i) CHECK(std::abs(output[i] - expected[i]) <= tolerance);
    SessionOptions sequential;
    sequential.sequential = true;
    CHECK(scene.Run(*plan, sequential) == output);
  }
}

}  // namespace
}  // namespace pt::npu_plans_test
