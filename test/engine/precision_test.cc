// What an application allows reaches candidates, profile, plan and run; and nothing but fp32 comes unasked.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <random>
#include <set>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/plan/plan_precision.h"
#include "test/cost/sample_problem.h"
#include "test/testing/onnx_bytes.h"

namespace pt::precision_test {
namespace {

constexpr int kFloat = 1;  // of TensorProto.DataType

// x ─ Conv ─ Relu ─ Conv ─ y
std::string TwoConvolutions() {
  namespace wire = testing;
  wire::GraphParts graph;
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-0.3F, 0.3F);
  for (const char* name : {"w1", "w2"}) {
    std::vector<float> values(16 * 16 * 9);
    for (float& value : values) value = uniform(random);
    graph.initializers.push_back(wire::FloatTensor(name, {16, 16, 3, 3}, values));
  }
  graph.inputs = {wire::ValueInfo("x", kFloat, {"1", "16", "8", "8"})};
  graph.outputs = {wire::ValueInfo("y", kFloat, {"1", "16", "8", "8"})};
  const std::vector<wire::Wire> pads = {wire::IntsAttribute("pads", {1, 1, 1, 1})};
  graph.nodes = {wire::NodeBytes("Conv", {"x", "w1"}, {"a"}, pads), wire::NodeBytes("Relu", {"a"}, {"b"}),
                 wire::NodeBytes("Conv", {"b", "w2"}, {"y"}, pads)};
  return wire::ModelBytes(graph);
}

struct Scene {
  Scene() {
    path = folder.file("model.onnx");
    std::ofstream(path, std::ios::binary) << TwoConvolutions();
    EngineOptions options;
    options.db_path = folder.file("profile.db");
    options.machine.max_cores = 1;
    engine = Engine::Make(options).value();
  }
  std::shared_ptr<const Model> Load(const Precision& precision) {
    ModelOptions options;
    options.precision = precision;
    return engine->Load(path, options).value();
  }
  bool has_bf16() const {
    const Device& host = engine->machine().platform().devices[0];
    return host.has_instructions("avx512_bf16") || host.has_instructions("amx_bf16");
  }

  TemporaryFolder folder;
  std::string path;
  std::unique_ptr<Engine> engine;
};

std::vector<float> RunOnce(Engine& engine, const Model& model, const Plan& plan) {
  const Result<std::unique_ptr<Session>> session = engine.MakeSession(model, plan, {});
  if (!session.ok()) FAIL(ToString(session.error()));
  std::vector<float> input(16 * 64), output(16 * 64, -1.0F);
  for (size_t i = 0; i < input.size(); ++i) input[i] = std::sin(static_cast<float>(i));
  const LentTensor in{DataType::kFloat32, {1, 16, 8, 8}, input.data(), input.size() * 4};
  const LentTensor out{DataType::kFloat32, {1, 16, 8, 8}, output.data(), output.size() * 4};
  REQUIRE((*session)->Run({&in, 1}, {&out, 1}).ok());
  return output;
}

TEST_CASE("Engine, NothingButFp32ComesUnasked", "[engine]") {
  Scene scene;
  const auto model = scene.Load(Precision());
  for (const Candidate& candidate : model->candidates) {
    CHECK(candidate.math == MathMode::kFp32);
    for (const auto* side : {&candidate.in, &candidate.out}) {
      for (const Form& form : *side) CHECK(form.storage == DataType::kFloat32);
    }
  }
  CHECK(scene.engine->MakeDefaultPlan(*model)->made_for.settings.at("precision") == "fp32");
}

TEST_CASE("Engine, Bf16PlansRunWithinTheirTolerance", "[engine]") {
  Scene scene;
  if (!scene.has_bf16()) SKIP("this processor has no bf16 instructions");
  const auto model = scene.Load(Precision({MathMode::kBf16})), plain = scene.Load(Precision());
  CHECK(model->candidates.size() > plain->candidates.size());
  MeasureOptions fast;
  fast.max_time_per_key = std::chrono::milliseconds(2);
  fast.max_noise = 0.5;
  REQUIRE(scene.engine->MeasureModel(*model, fast, {}).ok());
  const std::vector<float> want = RunOnce(*scene.engine, *plain, scene.engine->MakeDefaultPlan(*plain).value());
  const Tensor wanted = Tensor::Float32({1, 16, 8, 8}, want);

  std::set<MathMode> seen;
  bool between = false;  // bf16 storage from one step to the next
  for (int seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    PlanOptions options;
    options.planner = "random:" + std::to_string(seed);
    const Result<Plan> plan = scene.engine->MakePlan(*model, options);
    if (!plan.ok()) FAIL(ToString(plan.error()));
    CHECK(plan->made_for.settings.at("precision") == "fp32,bf16");
    const MathMode math = LoosestMath(*plan);
    seen.insert(math);
    for (const Step& step : plan->steps) {
      const auto* group = std::get_if<RunGroup>(&step.work);
      if (group == nullptr) continue;
      for (InstanceId in : group->in) between |= plan->instances[in.index()].form.storage == DataType::kBfloat16;
    }
    ExpectedTensor expected;
    expected.dims = {1, 16, 8, 8};
    expected.tensor = wanted;
    const Tensor got = Tensor::Float32({1, 16, 8, 8}, RunOnce(*scene.engine, *model, *plan));
    const Tolerance tolerance = DefaultTolerance(*model->graph, model->graph->outputs()[0], math);
    CHECK(tolerance.relative == (math == MathMode::kBf16 ? 4e-2 : 1e-4));
    CHECK(CompareTensors(expected, got, tolerance).equal);

    // The same plan under the name of fp32 runs nowhere.
    if (math != MathMode::kBf16) continue;
    Plan mislabelled = *plan;
    mislabelled.made_for.settings["precision"] = "fp32";
    CHECK_FALSE(scene.engine->MakeSession(*model, mislabelled, {}).ok());
  }
  CHECK(seen.contains(MathMode::kBf16));
  CHECK(between);
}

}  // namespace
}  // namespace pt::precision_test
