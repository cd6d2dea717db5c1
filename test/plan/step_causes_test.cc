// What steps wait for across units, on plans written by hand.
#include "partitiontuner/plan/step_causes.h"

#include <catch2/catch_test_macros.hpp>

#include "test/testing/planning_world.h"

namespace pt::step_causes_test {
namespace {

constexpr UnitId kOne(0u), kTwo(1u), kThree(2u);
constexpr InstanceId kA(0u), kB(1u);

Step Group(UnitId unit, std::vector<InstanceId> in, std::vector<InstanceId> out, std::vector<StepId> after = {}) {
  Step step;
  step.unit = unit;
  step.work = RunGroup{PlanCandidateId(0u), std::move(in), std::move(out)};
  step.after = std::move(after);
  return step;
}

using Causes = std::vector<StepCause>;

TEST_CASE("StepCauses, NameWhatIsReadAndWhatIsWaitedForAlone", "[plan]") {
  Plan plan;
  plan.instances.resize(2);
  plan.steps = {Group(kOne, {}, {kA}), Group(kTwo, {}, {}), Group(kThree, {kA}, {}, {StepId(0u), StepId(1u)})};
  const std::vector<StepTime> times = {{0, 10}, {0, 20}, {20, 30}};
  const auto causes = StepCausesOf(plan, times);
  CHECK(causes[0].empty());
  CHECK(causes[1].empty());
  CHECK(causes[2] == Causes{{StepId(0u), kA}, {StepId(1u), std::nullopt}});
}

TEST_CASE("StepCauses, LeaveOutTheOrderOfAUnit", "[plan]") {
  Plan plan;
  plan.instances.resize(2);
  plan.steps = {Group(kOne, {}, {kA}), Group(kOne, {kA}, {kB}, {StepId(0u)}), Group(kTwo, {kB}, {})};
  const std::vector<StepTime> times = {{0, 10}, {10, 20}, {20, 30}};
  const auto causes = StepCausesOf(plan, times);
  CHECK(causes[1].empty());
  CHECK(causes[2] == Causes{{StepId(1u), kB}});  // the data edge alone says it: one core of both may order them
}

TEST_CASE("StepCauses, GoThroughStepsThatTakeNoTime", "[plan]") {
  Plan plan;
  plan.instances.resize(2);
  plan.steps = {Group(kOne, {}, {kA}), Group(kThree, {kA}, {kB}, {StepId(0u)}), Group(kTwo, {kB}, {}, {StepId(1u)})};
  const std::vector<StepTime> times = {{0, 10}, {10, 10}, {15, 30}};
  const auto causes = StepCausesOf(plan, times);
  CHECK(causes[1].empty());
  CHECK(causes[2] == Causes{{StepId(0u), kB}});
}

// Every cause of a planner's plan is over before its step starts, and no step waits for itself.
TEST_CASE("StepCauses, OfPlannedStepsAreOverBefore", "[plan]") {
  const testing::World world = testing::MakeWorld(testing::Inception(4));
  for (const char* planner : {"search", "heft"}) {
    const Plan plan = testing::PlanOf(world, planner);
    const std::vector<StepTime> times = ExpectedTimes(plan);
    const auto causes = StepCausesOf(plan, times);
    size_t count = 0;
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      for (const StepCause& cause : causes[s]) {
        ++count;
        CHECK(cause.from.index() < s);
        CHECK(times[cause.from.index()].end_ns <= times[s].start_ns);
        CHECK(plan.steps[cause.from.index()].unit != plan.steps[s].unit);
      }
    }
    CHECK(count > 0);
  }
}

}  // namespace
}  // namespace pt::step_causes_test
