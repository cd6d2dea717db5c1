// A hand-worked case of the correction along the critical path.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/task_world.h"

namespace pt::critical_path_test {
namespace {

TEST_CASE("CriticalPath, TheGreedyPlacementIsCorrectedWhereItIsLongest", "[planner]") {
  // A fork of two and a join on two processors, every edge 50. Greedily task 1 goes to P1, where it ends sooner, task 2
  // too; task 3 finds P1 busy and goes to P2 at 10 + 50, ends at 100; task 4 on P1 waits for it until 150 and ends at
  // 160. With task 3 on P1 behind task 2 nothing is moved: 10 + 30 + 20 + 10.
  const testing::World world =
      testing::TaskWorld({{10, 12}, {20, 40}, {30, 40}, {10, 15}}, {{1, 2, 50}, {1, 3, 50}, {2, 4, 50}, {3, 4, 50}});
  const Plan greedy = testing::PlanOf(world, "operator");
  CHECK(testing::TaskTimes(world, greedy) == "P1@0 P1@10 P2@60 P1@150");
  const Plan plan = testing::PlanOf(world, "critical-path");
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(testing::TaskTimes(world, plan) == "P1@0 P1@40 P1@10 P1@60");
  CHECK(plan.makespan.ns == 70);
}

}  // namespace
}  // namespace pt::critical_path_test
