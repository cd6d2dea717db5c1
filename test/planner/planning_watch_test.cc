// Who watches planning hears of the best makespan, and ends it with the best plan so far.
#include "partitiontuner/planner/planning_watch.h"

#include <catch2/catch_test_macros.hpp>

#include "test/testing/planning_world.h"

namespace pt::planning_watch_test {
namespace {

using testing::MakeWorld;
using testing::World;

// Ends planning at that question, and counts them.
struct Interruption {
  explicit Interruption(int64_t when) : at(when) {}
  int64_t at, asked = 0;
  PlanningWatch watch{[this] { return ++asked > at; }};
};

Result<Plan> PlanBy(const World& world, const Planner& planner, PlanningWatch& watch) {
  PlanningProblem problem = world.problem();
  problem.effort = 300;
  problem.watch = &watch;
  return planner.make_plan(problem, nullptr);
}

TEST_CASE("PlanningWatch, SearchGivesTheBestPlanSoFarWheneverItIsInterrupted", "[planner]") {
  std::vector<World> worlds;
  worlds.push_back(MakeWorld(testing::RandomGraph(1, 40)));
  worlds.push_back(MakeWorld(testing::Inception(20), {.accelerator = false}));
  worlds.push_back(MakeWorld(testing::RandomGraph(2, 2100)));  // with fewer starts
  const Planner& search = *FindPlanner("search").value();
  for (const World& world : worlds) {
    Interruption whole(INT64_MAX);
    const Plan best = PlanBy(world, search, whole.watch).value();
    CHECK(best.report.stopped_by == "effort");
    CHECK(whole.watch.best_ns() == best.makespan.ns);
    for (const int64_t part : {0, 1, 5, 20, 40, 60, 80, 95}) {
      Interruption interruption(whole.asked * part / 100);
      const Result<Plan> plan = PlanBy(world, search, interruption.watch);
      INFO(world.graph.nodes().size() << " nodes, interrupted at question " << interruption.at << " of "
                                      << whole.asked);
      CHECK(interruption.asked <= interruption.at + 300);  // what is under way ends
      if (interruption.watch.best_ns() == 0) {
        REQUIRE(!plan.ok());
        CHECK(plan.error().code == ErrorCode::kInterrupted);
        continue;
      }
      REQUIRE(plan.ok());
      CHECK(testing::FaultText(world, *plan) == "");
      CHECK(plan->report.stopped_by == "interrupted");
      CHECK(plan->makespan.ns == interruption.watch.best_ns());
    }
  }
}

TEST_CASE("PlanningWatch, EveryPlannerEndsWithALegalPlanOrNone", "[planner]") {
  const World world = MakeWorld(testing::RandomGraph(1, 40));
  for (const Planner& planner : Planners()) {
    INFO(planner.name);
    Interruption interruption(0);
    const Result<Plan> plan = PlanBy(world, planner, interruption.watch);
    if (plan.ok()) {
      CHECK(testing::FaultText(world, *plan) == "");
      CHECK(plan->report.stopped_by == "interrupted");
    } else {
      CHECK(plan.error().code == ErrorCode::kInterrupted);
    }
  }
}

TEST_CASE("PlanningWatch, OneThatNeverEndsChangesNoPlan", "[planner]") {
  const World world = MakeWorld(testing::Inception(4));
  const Planner& search = *FindPlanner("search").value();
  PlanningProblem problem = world.problem();
  problem.effort = 300;
  const Plan alone = search.make_plan(problem, nullptr).value();
  PlanningWatch watch;
  const Plan watched = PlanBy(world, search, watch).value();
  CHECK(watched.makespan.ns == alone.makespan.ns);
  CHECK(watched.steps.size() == alone.steps.size());
}

}  // namespace
}  // namespace pt::planning_watch_test
