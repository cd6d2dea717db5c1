// Lower bounds: below every plan, on every kind of machine, and hand-worked cases of each.
#include "partitiontuner/planner/bounds.h"

#include <catch2/catch_test_macros.hpp>

#include "lib/planner/solve.h"
#include "test/testing/random_world.h"

namespace pt {
namespace {

using testing::RandomWorld;
using testing::World;

TEST_CASE("EveryBound, IsBelowAThousandRandomPlansOnEveryMachine", "[planner][slow]") {
  for (const testing::Machine machine : testing::kMachines) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const World world = RandomWorld(seed, 12 + seed, machine);
      const PlanningProblem problem = world.problem();
      const std::vector<Bound> bounds = LowerBounds(problem);
      const Space space = Space::Make(problem).value();
      Scheduler scheduler(space);
      for (int plan = 1; plan <= 1000; ++plan) {
        const std::string argument = std::to_string(plan);
        const Solution solution = [&] {
          for (const Solver& solver : Solvers()) {
            if (solver.planner.name == "random") return solver.solve(space, argument).value().order;
          }
          return Solution();
        }();
        const int64_t makespan = scheduler.Run(solution);
        for (const Bound& bound : bounds) {
          INFO("machine " << static_cast<int>(machine) << ", seed " << seed << ", random:" << plan << ", "
                          << bound.name);
          REQUIRE(bound.ns <= makespan);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pt
