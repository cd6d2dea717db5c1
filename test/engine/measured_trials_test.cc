// Plans within an error budget, from models to errors that are measured anew.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/plan/plan_precision.h"
#include "partitiontuner/support/random.h"
#include "test/cost/sample_problem.h"
#include "test/testing/onnx_bytes.h"

namespace pt::measured_trials_test {
namespace {

namespace wire = testing;

constexpr int kFloat = 1, kInt64 = 7;  // of TensorProto.DataType
constexpr int64_t kChannels = 32, kSize = 24;

// x ─ (Conv ─ Relu) four times ─ y; and the place of the largest number of each pixel's channels, where asked for.
std::string Convolutions(bool with_reals, bool with_places) {
  wire::GraphParts graph;
  Random random(5);
  const std::string channels = std::to_string(kChannels), size = std::to_string(kSize);
  graph.inputs = {wire::ValueInfo("x", kFloat, {"1", channels, size, size})};
  std::string last = "x";
  for (const char* layer : {"1", "2", "3", "4"}) {
    std::vector<float> weights(kChannels * kChannels * 9);
    for (float& weight : weights) weight = static_cast<float>(random.Uniform(-0.15, 0.15));
    const std::string w = std::string("w") + layer, c = std::string("c") + layer, r = std::string("r") + layer;
    graph.initializers.push_back(wire::FloatTensor(w, {kChannels, kChannels, 3, 3}, weights));
    graph.nodes.push_back(wire::NodeBytes("Conv", {last, w}, {c}, {wire::IntsAttribute("pads", {1, 1, 1, 1})}));
    graph.nodes.push_back(wire::NodeBytes("Relu", {c}, {r}));
    last = r;
  }
  if (with_reals) graph.outputs.push_back(wire::ValueInfo(last, kFloat, {"1", channels, size, size}));
  if (with_places) {
    graph.nodes.push_back(wire::NodeBytes("ArgMax", {last}, {"place"}, {wire::IntAttribute("axis", 1)}));
    graph.outputs.push_back(wire::ValueInfo("place", kInt64, {"1", "1", size, size}));
  }
  return wire::ModelBytes(graph);
}

std::vector<Tensor> RandomInput(uint64_t seed) {
  Random random(seed);
  std::vector<float> values(kChannels * kSize * kSize);
  for (float& value : values) value = static_cast<float>(random.Uniform(-1, 1));
  return {Tensor::Float32({1, kChannels, kSize, kSize}, values)};
}

ErrorBudget BudgetOf(double max_error) {
  return {max_error, {RandomInput(1), RandomInput(2)}, {RandomInput(3), RandomInput(4), RandomInput(5)}};
}

struct Scene {
  explicit Scene(const std::string& bytes) {
    path = folder.file("model.onnx");
    std::ofstream(path, std::ios::binary) << bytes;
    EngineOptions engine_options;
    engine_options.db_path = folder.file("profile.db");
    engine_options.machine.max_cores = 1;
    engine = Engine::Make(engine_options).value();
    ModelOptions model_options;
    model_options.precision = EveryPrecision();
    model = engine->Load(path, model_options).value();
    MeasureOptions fast;
    fast.max_time_per_key = std::chrono::milliseconds(2);
    fast.max_noise = 0.5;
    REQUIRE(engine->MeasureModel(*model, fast, {}).ok());
    // So that it is no question of this machine's speed whether lower precision pays.
    profile = engine->ProfileOf(*model).value();
    for (auto& [key, measurement] : profile.measurements) {
      if (measurement.math != "fp32") measurement.median_ns = std::max<int64_t>(measurement.median_ns / 20, 1);
    }
    options.profile = &profile;
  }
  Result<Plan> PlanWithin(const ErrorBudget& budget) const { return engine->MakePlanWithin(*model, options, budget); }
  bool has_lower_modes() const {
    return std::ranges::any_of(model->candidates, [](const Candidate& c) { return c.math != MathMode::kFp32; });
  }
  Plan InFp32() {
    PlanOptions exact = options;
    for (size_t n = 0; n < model->graph->nodes().size(); ++n) exact.constraints.in_fp32.insert(NodeId(n));
    return engine->MakePlan(*model, exact).value();
  }
  double ErrorOn(const Plan& plan, const std::vector<std::vector<Tensor>>& sets) {
    const auto session = engine->MakeSession(*model, plan).value(),
               exact = engine->MakeSession(*model, InFp32()).value();
    double largest = 0;
    for (const std::vector<Tensor>& set : sets) {
      largest = std::max(largest, RelativeError(RunTensors(*exact, set).value(), RunTensors(*session, set).value()));
    }
    return largest;
  }

  TemporaryFolder folder;
  std::string path;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
  Profile profile;
  PlanOptions options;
};

TEST_CASE("MakePlanWithin, KeepsEveryBudgetAndTellsTheErrorsThatItHas", "[engine]") {
  Scene scene(Convolutions(true, false));
  if (!scene.has_lower_modes()) SKIP("this processor has no lower precision");
  std::vector<uint64_t> lowered;  // groups
  for (const double max_error : {1e-1, 6e-3, 1e-3, 1e-9}) {
    CAPTURE(max_error);
    const ErrorBudget budget = BudgetOf(max_error);
    const Result<Plan> plan = scene.PlanWithin(budget);
    if (!plan.ok()) FAIL(ToString(plan.error()));
    const BudgetReport& report = plan->report.budget.value();
    CHECK(report.max_error == max_error);
    CHECK(report.confirmation_error <= max_error);
    CHECK(report.calibration_error <= max_error);
    CHECK(report.calibration_sets == 2);
    CHECK(report.confirmation_sets == 3);
    CHECK(scene.ErrorOn(*plan, budget.calibration) == report.calibration_error);
    CHECK(scene.ErrorOn(*plan, budget.confirmation) == report.confirmation_error);
    CHECK(report.fp32_ns >= plan->makespan.ns);
    CHECK((report.lowered_groups == 0) == (LoosestMath(*plan) == MathMode::kFp32));
    CHECK(PlanFromJson(ToJson(*plan, *scene.model->graph), "plan")->report.budget == report);
    lowered.push_back(report.lowered_groups);
  }
  CHECK(lowered.front() > 0);
  CHECK(lowered.back() == 0);
}

TEST_CASE("MakePlanWithin, IntegersAreEqualOrInFp32", "[engine]") {
  Scene scene(Convolutions(true, true));
  const ErrorBudget budget = BudgetOf(0.5);
  const Plan plan = scene.PlanWithin(budget).value();
  CHECK(plan.report.budget->confirmation_error <= 0.5);
  CHECK(std::isfinite(scene.ErrorOn(plan, budget.calibration)));
  CHECK(std::isfinite(scene.ErrorOn(plan, budget.confirmation)));
}

TEST_CASE("MakePlanWithin, IsInFp32WithoutRealOutputs", "[engine]") {
  Scene scene(Convolutions(false, true));
  CHECK_FALSE(HasRealOutput(*scene.model->graph));
  const Plan plan = scene.PlanWithin(BudgetOf(0.5)).value();
  CHECK(LoosestMath(plan) == MathMode::kFp32);
  CHECK(plan.report.budget->lowered_groups == 0);
  CHECK(plan.report.budget->plans == 1);
}

TEST_CASE("MakePlanWithin, EndedAtAnyTimeGivesAPlanWithinTheBudget", "[engine]") {
  Scene scene(Convolutions(true, false));
  const ErrorBudget budget = BudgetOf(0.01);
  std::vector<std::vector<Tensor>> data = budget.calibration;
  data.insert(data.end(), budget.confirmation.begin(), budget.confirmation.end());
  bool planned = false;
  for (size_t asked = 1; asked < 100000; asked *= 3) {
    CAPTURE(asked);
    std::atomic<size_t> left = asked;
    PlanningWatch watch([&] { return left == 0 || --left == 0; });
    scene.options.watch = &watch;
    const Result<Plan> plan = scene.PlanWithin(budget);
    scene.options.watch = nullptr;
    if (!plan.ok()) {
      CHECK(plan.error().code == ErrorCode::kInterrupted);
      CHECK_FALSE(planned);  // later there is one
      continue;
    }
    planned = true;
    CHECK((plan->report.stopped_by == "interrupted") == (left == 0));
    CHECK(plan->report.budget->confirmation_error <= budget.max_error);
    CHECK(scene.ErrorOn(*plan, data) <= budget.max_error);
  }
  CHECK(planned);
}

TEST_CASE("MakePlanWithin, RefusesBudgetsThatAreNone", "[engine]") {
  Scene scene(Convolutions(true, false));
  const auto code = [&](const ErrorBudget& budget) {
    const Result<Plan> plan = scene.PlanWithin(budget);
    return plan.ok() ? ErrorCode{} : plan.error().code;
  };
  for (const double max_error : {0.0, -1.0, std::nan(""), HUGE_VAL})
    CHECK(code(BudgetOf(max_error)) == ErrorCode::kUsage);
  ErrorBudget budget = BudgetOf(0.1);
  budget.confirmation.clear();
  CHECK(code(budget) == ErrorCode::kUsage);
  if (!scene.has_lower_modes()) return;  // no data is looked at
  budget = BudgetOf(0.1);
  budget.calibration[0].clear();
  CHECK(code(budget) == ErrorCode::kInvalidInput);
  budget.calibration[0] = {Tensor::Float32({1}, {1})};
  CHECK(code(budget) == ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace pt::measured_trials_test
