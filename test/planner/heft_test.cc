#include <catch2/catch_test_macros.hpp>

#include "test/testing/task_world.h"

namespace pt::heft_test {
namespace {

using testing::World;

// The ten tasks of Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity task scheduling for
// heterogeneous computing" (2002), figure 2 and table 2.
World TenTasks() {
  return testing::TaskWorld({{14, 16, 9},
                             {13, 19, 18},
                             {11, 13, 19},
                             {13, 8, 17},
                             {12, 13, 10},
                             {13, 16, 9},
                             {7, 15, 11},
                             {5, 11, 14},
                             {18, 12, 20},
                             {21, 7, 16}},
                            {{1, 2, 18},
                             {1, 3, 12},
                             {1, 4, 9},
                             {1, 5, 11},
                             {1, 6, 14},
                             {2, 8, 19},
                             {2, 9, 16},
                             {3, 7, 23},
                             {4, 8, 27},
                             {4, 9, 23},
                             {5, 9, 13},
                             {6, 8, 15},
                             {7, 10, 17},
                             {8, 10, 11},
                             {9, 10, 13}});
}

TEST_CASE("Heft, TheTenTasksOfThePaperTake80", "[planner]") {
  const World world = TenTasks();
  const Plan plan = testing::PlanOf(world, "heft");
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(plan.makespan.ns == 80);
  // Figure 3a.
  CHECK(testing::TaskTimes(world, plan) == "P3@0 P1@27 P3@9 P2@18 P3@28 P2@26 P3@38 P1@57 P2@56 P2@73");
}

TEST_CASE("Search, DiamondOverlapsBothBranches", "[planner]") {
  World world = testing::MakeWorld(testing::Diamond(), {.fused = false, .blocked = false, .accelerator = false});
  // Narrow steps of equal time; a wide one takes more than half as long.
  for (Candidate& candidate : world.candidates) {
    world.costs.SetRunOf(candidate, candidate.unit_class == UnitClassId(0u) ? 1000 : 950);
  }
  for (size_t c = 0; c < 2; ++c) {
    world.costs.SetOverhead(UnitClassId(c), 0);
    for (size_t d = 0; d < 2; ++d) {
      world.costs.SetWait(UnitClassId(c), UnitClassId(d), 0);
      world.costs.SetFetch(UnitClassId(c), UnitClassId(d), 0);
    }
  }
  const Plan plan = FindPlanner("search").value()->make_plan(world.problem(), nullptr).value();
  CHECK(plan.makespan.ns == 950 + 1000 + 950);
  CHECK(testing::OrderText(world, plan) == "v0@cpu[0-1], v1@cpu[0], v2@cpu[1], v3@cpu[0-1]");
}

}  // namespace
}  // namespace pt::heft_test
