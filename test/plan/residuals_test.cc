// What makes a run longer than predicted: exact on plans of small worlds.
#include "partitiontuner/plan/residuals.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/plan/timeline.h"
#include "partitiontuner/planner/planner.h"
#include "partitiontuner/support/random.h"
#include "test/testing/planning_world.h"

namespace pt::residuals_test {
namespace {

using testing::MakeWorld;
using testing::World;

Plan PlanOf(const World& world) { return FindPlanner("search").value()->make_plan(world.problem(), nullptr).value(); }

std::vector<int64_t> Expected(const Plan& plan) {
  std::vector<int64_t> ns;
  for (const Step& step : plan.steps) ns.push_back(step.expected_ns);
  return ns;
}

int64_t Sum(const Residuals& r) {
  return r.drift_ns + r.kernels_ns + r.inputs_ns + r.reorders_ns + r.copies_ns + r.waits_ns;
}

TEST_CASE("Residuals, OfARunAsPredictedAreNone", "[plan]") {
  const World world = MakeWorld(testing::RandomGraph(7, 20), {.accelerator = false}, 7);
  const Plan plan = PlanOf(world);
  const Residuals r = ResidualsOf(world.platform, plan, Expected(plan), plan.makespan.ns, {});
  for (const int64_t ns : {r.drift_ns, r.kernels_ns, r.inputs_ns, r.reorders_ns, r.copies_ns, r.waits_ns}) {
    CHECK(ns == 0);
  }
}

TEST_CASE("Residuals, OfAMachineHalfAsFastAreDrift", "[plan]") {
  const World world = MakeWorld(testing::RandomGraph(8, 20), {.accelerator = false}, 8);
  const Plan plan = PlanOf(world);
  std::vector<int64_t> twice = Expected(plan);
  for (int64_t& ns : twice) ns *= 2;
  const Residuals r = ResidualsOf(world.platform, plan, twice, 2 * plan.makespan.ns, {.work = 2});
  CHECK(r.drift_ns == plan.makespan.ns);
  CHECK(Sum(r) == r.drift_ns);
  CHECK(r.waits_ns == 0);
}

TEST_CASE("Residuals, OfSlowerHandOversAreDrift", "[plan]") {
  const World world = MakeWorld(testing::RandomGraph(9, 40), {.accelerator = false}, 9);
  Plan plan = PlanOf(world);
  plan.report.hand_over_ns = 50;
  const Pace same{.work = 1, .hand_over_ns = 50}, slow{.work = 1, .hand_over_ns = 450}, unknown{};
  CHECK(PredictedAt(world.platform, plan, same) == plan.makespan.ns);
  CHECK(PredictedAt(world.platform, plan, unknown) == plan.makespan.ns);
  const std::vector<int64_t> steps = Expected(plan);
  std::vector<int64_t> later = steps;
  for (size_t s = 0; s < later.size(); ++s) {
    const UnitClass& unit_class = world.platform.unit_class(world.platform.unit(plan.steps[s].unit).unit_class);
    if (unit_class.cores > 1) later[s] += 6 * 400;
  }
  const int64_t more = ReplayPlan(world.platform, plan, later, 450).makespan_ns -
                       ReplayPlan(world.platform, plan, steps, 50).makespan_ns;
  REQUIRE(more > 0);
  CHECK(PredictedAt(world.platform, plan, slow) == plan.makespan.ns + more);
  const Residuals r = ResidualsOf(world.platform, plan, later, plan.makespan.ns + more, slow);
  CHECK(r.drift_ns == more);
  CHECK(Sum(r) == more);
  CHECK(r.waits_ns == 0);
}

TEST_CASE("Residuals, HandOversOfPlansWithoutTheirTimeStayAsTheyAre", "[plan]") {
  const World world = MakeWorld(testing::RandomGraph(9, 40), {.accelerator = false}, 9);
  const Plan plan = PlanOf(world);
  REQUIRE(plan.report.hand_over_ns == 0);
  CHECK(PredictedAt(world.platform, plan, {.work = 1, .hand_over_ns = 5000}) == plan.makespan.ns);
}

// A chain on one unit: a kernel's delay is the plan's, and what the steps do not explain is waiting.
TEST_CASE("Residuals, AreNamedByKindOfStep", "[plan]") {
  const World world = MakeWorld(testing::Chain(5), {.accelerator = false});
  PlanningProblem problem = world.problem();
  problem.argument = "cpu";
  const Plan plan = FindPlanner("single").value()->make_plan(problem, nullptr).value();
  std::vector<int64_t> times = Expected(plan);
  int64_t kernels = 0, reorders = 0;
  for (size_t s = 0; s < times.size(); ++s) {
    const bool reorder = std::holds_alternative<Reorder>(plan.steps[s].work);
    (reorder ? reorders : kernels) += reorder ? 7 : 100;
    times[s] += reorder ? 7 : 100;
  }
  const Residuals r = ResidualsOf(world.platform, plan, times, plan.makespan.ns + kernels + reorders + 13, {});
  CHECK(r.kernels_ns + r.inputs_ns == kernels);
  CHECK(r.reorders_ns == reorders);
  CHECK(r.copies_ns == 0);
  CHECK(r.waits_ns == 13);
}

TEST_CASE("Residuals, AddUpToTheDifference", "[plan]") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 25), {}, seed);
    const Plan plan = PlanOf(world);
    Random random(seed);
    std::vector<int64_t> times = Expected(plan);
    for (int64_t& ns : times) ns += static_cast<int64_t>(random.Below(1000));
    const auto measured = static_cast<int64_t>(random.Below(100'000)) + plan.makespan.ns / 2;
    const Residuals r = ResidualsOf(world.platform, plan, times, measured, {.work = 1.25});
    INFO("seed " << seed);
    CHECK(Sum(r) == measured - plan.makespan.ns);
  }
}

TEST_CASE("Residuals, StepsOffTheCriticalPathCountNothing", "[plan]") {
  const World world = MakeWorld(testing::RandomGraph(3, 30), {.accelerator = false}, 3);
  const Plan plan = PlanOf(world);
  const Timeline replayed = ReplayPlan(world.platform, plan, Expected(plan));
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    std::vector<int64_t> times = Expected(plan);
    ++times[s];
    const Timeline later = ReplayPlan(world.platform, plan, times);
    const Residuals r = ResidualsOf(world.platform, plan, times, plan.makespan.ns, {});
    CHECK(r.kernels_ns + r.inputs_ns + r.reorders_ns == later.makespan_ns - replayed.makespan_ns);
  }
}

}  // namespace
}  // namespace pt::residuals_test
