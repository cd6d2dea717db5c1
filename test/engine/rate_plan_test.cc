// The plan for requests that come at a rate.
#include "partitiontuner/engine/rate_plan.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "partitiontuner/engine/engine.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::testing::rate_plan_test {
namespace {

// x ─ Relu ─┬─ Tanh ─┬─ Add ─ y
//           └─ Exp ──┘
std::string Branches() {
  constexpr int kFloat = 1;  // of TensorProto.DataType
  GraphParts graph;
  graph.inputs = {ValueInfo("x", kFloat, {"64", "64"})};
  graph.outputs = {ValueInfo("y", kFloat, {"64", "64"})};
  graph.nodes = {NodeBytes("Relu", {"x"}, {"r"}), NodeBytes("Tanh", {"r"}, {"a"}), NodeBytes("Exp", {"r"}, {"b"}),
                 NodeBytes("Add", {"a", "b"}, {"y"})};
  return ModelBytes(graph);
}

// One stream; every operator takes 10 us, and a copy next to nothing: far less than on the host.
constexpr const char* kDevice = R"({"version": 1, "name": "sim:0", "memory_bytes": 1073741824, "streams": 1,
  "to_device": {"latency_ns": 100, "bytes_per_ns": 1000}, "from_device": {"latency_ns": 100, "bytes_per_ns": 1000},
  "families": {"*": {"fixed_ns": 10000, "flops_per_ns": 0, "bytes_per_ns": 0}}})";

// The model on a machine with one simulated device, where all is known beforehand, or on the host as it is measured.
struct Scene {
  explicit Scene(bool simulated) {
    std::ofstream(folder.file("model.onnx"), std::ios::binary) << Branches();
    std::ofstream(folder.file("device.json")) << kDevice;
    EngineOptions options;
    options.db_path = simulated ? "none" : folder.file("profile.db");
    if (simulated) {
      options.machine.libraries = {"reference", "simulated"};
      options.machine.platform_files = {folder.file("device.json")};
    }
    engine = Engine::Make(options).value();
    model = engine->Load(folder.file("model.onnx"), {}).value();
    if (simulated) return;
    MeasureOptions fast;
    fast.max_time_per_key = std::chrono::milliseconds(2);
    fast.max_noise = 0.5;
    REQUIRE(engine->MeasureModel(*model, fast, {}).ok());
  }
  RateChoice Choose(const RateGoal& goal, const RateConfirmation* confirmation = nullptr) const {
    const PlanOptions options{.planner = engine->machine().platform().devices.size() > 1 ? "single:sim:0" : "search"};
    Result<RateChoice> choice = engine->MakePlanForRate(*model, options, goal, confirmation);
    INFO((choice.ok() ? "" : ToString(choice.error())));
    REQUIRE(choice.ok());
    REQUIRE_FALSE(choice->contenders.empty());
    REQUIRE(choice->chosen < choice->contenders.size());
    return *std::move(choice);
  }
  RateConfirmation Confirmation() const {
    RateConfirmation confirmation;
    confirmation.inputs = {Tensor::Float32({64, 64}, std::vector<float>(64 * 64, 0.5F))};
    confirmation.duration = std::chrono::milliseconds(20);
    return confirmation;
  }

  TemporaryFolder folder;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
};

}  // namespace

// A run takes some 40 us there, one after another: 25,000 a second are the most.
TEST_CASE("RatePlan, ADevicesRateIsThatOfItsRuns", "[engine]") {
  const Scene scene(true);
  RateGoal goal;
  goal.arrivals = ArrivalKind::kFixed;
  goal.per_second = 20'000;
  const RateChoice met = scene.Choose(goal);
  CHECK(met.met);
  CHECK_FALSE(met.confirmed);
  CHECK(met.highest_rate == 20'000);
  const RateContender& kept = met.contenders[met.chosen];
  CHECK(kept.plan.planner == "single:sim:0");
  CHECK(kept.predicted.latency.max() >= kept.plan.makespan.ns);
  CHECK(kept.predicted.refused == 0);
  CHECK(kept.predicted_rate > 20'000);
  CHECK(kept.predicted_rate < 30'000);
  goal.per_second = 1'000'000;
  const RateChoice not_met = scene.Choose(goal);
  CHECK_FALSE(not_met.met);
  CHECK(not_met.highest_rate == not_met.contenders[not_met.chosen].predicted_rate);
  CHECK(not_met.contenders[not_met.chosen].predicted.refused > 0);
}

TEST_CASE("RatePlan, ABoundBelowARunIsMetAtNoRateAndOneAboveItUpToSome", "[engine]") {
  const Scene scene(true);
  RateGoal goal;
  goal.per_second = 20'000;
  goal.p99 = std::chrono::microseconds(10);
  const RateChoice none = scene.Choose(goal);
  CHECK_FALSE(none.met);
  CHECK(none.highest_rate == 0);
  goal.p99 = std::chrono::microseconds(100);
  const RateChoice some = scene.Choose(goal);
  CHECK_FALSE(some.met);
  CHECK(some.highest_rate > 1000);
  CHECK(some.highest_rate < 20'000);
  goal.per_second = 0.95 * some.highest_rate;
  CHECK(scene.Choose(goal).met);
}

TEST_CASE("RatePlan, TheSameGoalGivesTheSameAnswer", "[engine]") {
  const Scene scene(true);
  RateGoal goal;
  goal.per_second = 1500;
  goal.seed = 5;
  const RateChoice one = scene.Choose(goal), two = scene.Choose(goal);
  REQUIRE(one.contenders.size() == two.contenders.size());
  for (size_t i = 0; i < one.contenders.size(); ++i) {
    CHECK(one.contenders[i].name == two.contenders[i].name);
    CHECK(one.contenders[i].predicted_rate == two.contenders[i].predicted_rate);
    CHECK(one.contenders[i].predicted.latency.mean() == two.contenders[i].predicted.latency.mean());
  }
}

TEST_CASE("RatePlan, OnAVirtualClockNothingIsConfirmed", "[engine]") {
  const Scene scene(true);
  const RateConfirmation confirmation = scene.Confirmation();
  RateGoal goal;
  goal.per_second = 1000;
  const RateChoice choice = scene.Choose(goal, &confirmation);
  CHECK_FALSE(choice.confirmed);
  CHECK(choice.met);
  for (const RateContender& contender : choice.contenders) CHECK_FALSE(contender.measured);
}

// An hour is enough for any run, a nanosecond for none.
TEST_CASE("RatePlan, OnTheHostRunsDecide", "[engine]") {
  const Scene scene(false);
  const RateConfirmation confirmation = scene.Confirmation();
  RateGoal goal;
  goal.per_second = 200;
  goal.waiting = 10'000;
  goal.p99 = std::chrono::hours(1);
  const RateChoice met = scene.Choose(goal, &confirmation);
  CHECK(met.confirmed);
  CHECK(met.met);
  const RateContender& kept = met.contenders[met.chosen];
  REQUIRE(kept.measured);
  CHECK(kept.measured->latency.count() == 40);  // ten times 20 ms, for want of requests
  CHECK(Meets(goal, *kept.measured));
  goal.p99 = std::chrono::nanoseconds(1);
  const RateChoice none = scene.Choose(goal, &confirmation);
  CHECK(none.confirmed);
  CHECK_FALSE(none.met);
  CHECK(none.highest_rate == 0);
}

TEST_CASE("RatePlan, ThePlanSaysWhatItWasMadeForAndHowItRuns", "[engine]") {
  const Scene scene(false);
  RateGoal goal;
  goal.per_second = 12.5;
  goal.p99 = std::chrono::milliseconds(20);
  const RateChoice choice = scene.Choose(goal);
  for (const RateContender& contender : choice.contenders) {
    const auto& settings = contender.plan.made_for.settings;
    CHECK(settings.at("objective") == "rate");
    CHECK(settings.at("rate") == "12.5");
    CHECK(settings.at("arrivals") == "poisson");
    CHECK(settings.at("p99_ns") == "20000000");
    CHECK(RequestSettingOf(contender.plan).value() == contender.setting);
    SessionOptions options;
    contender.setting.ApplyTo(options);
    CHECK(options.alone == contender.setting.alone);
    CHECK(scene.engine->MakeSession(*scene.model, contender.plan, options).ok());
  }
}

TEST_CASE("RatePlan, GoalsAndSettingsThatMakeNoSenseAreRefused", "[engine]") {
  const Scene scene(true);
  const auto refused = [&](const RateGoal& goal, const RateConfirmation* confirmation = nullptr) {
    return scene.engine->MakePlanForRate(*scene.model, {}, goal, confirmation).error().code == ErrorCode::kUsage;
  };
  CHECK(refused({.per_second = 0}));
  CHECK(refused({.per_second = -1}));
  CHECK(refused({.per_second = 2e7}));
  CHECK(refused({.per_second = 5, .p99 = std::chrono::nanoseconds(0)}));
  RateConfirmation no_time = scene.Confirmation();
  no_time.duration = std::chrono::nanoseconds(0);
  CHECK(refused({.per_second = 5}, &no_time));
  Plan plan;
  CHECK_FALSE(RequestSettingOf(plan).value());
  SetRequestSetting({AloneRuns::kAlways, 7}, plan);
  CHECK(RequestSettingOf(plan).value() == RequestSetting{AloneRuns::kAlways, 7});
  for (const auto& [name, value] : {std::pair{"alone", "now and then"}, {"in_flight", "0"}, {"in_flight", "2x"}}) {
    Plan damaged = plan;
    damaged.made_for.settings[name] = value;
    CHECK(RequestSettingOf(damaged).error().code == ErrorCode::kInvalidInput);
  }
  plan.made_for.settings.erase("alone");
  CHECK(RequestSettingOf(plan).error().code == ErrorCode::kInvalidInput);
}

}  // namespace pt::testing::rate_plan_test
