#include <catch2/catch_test_macros.hpp>

#include "test/testing/task_world.h"

namespace pt::peft_test {
namespace {

using testing::World;

// The sample of Arabnejad and Barbosa, "List scheduling algorithm for heterogeneous systems by an optimistic cost
// table" (2014), figure 2 and table 1.
World Sample() {
  return testing::TaskWorld({{22, 21, 36},
                             {22, 18, 18},
                             {32, 27, 43},
                             {7, 10, 4},
                             {29, 27, 35},
                             {26, 17, 24},
                             {14, 25, 30},
                             {29, 23, 36},
                             {15, 21, 8},
                             {13, 16, 33}},
                            {{1, 2, 17},
                             {1, 3, 31},
                             {1, 4, 29},
                             {1, 5, 13},
                             {1, 6, 7},
                             {2, 8, 3},
                             {2, 9, 30},
                             {3, 7, 16},
                             {4, 8, 11},
                             {4, 9, 7},
                             {5, 9, 57},
                             {6, 8, 5},
                             {7, 10, 9},
                             {8, 10, 42},
                             {9, 10, 7}});
}

TEST_CASE("Peft, TheSampleOfThePaperTakes122WhereHeftTakes133", "[planner]") {
  const World world = Sample();
  const Plan plan = testing::PlanOf(world, "peft");
  INFO(testing::TaskTimes(world, plan));
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(plan.makespan.ns == 122);
  CHECK(testing::PlanOf(world, "heft").makespan.ns == 133);
}

}  // namespace
}  // namespace pt::peft_test
