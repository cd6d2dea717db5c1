// exact against brute force, search against exact, on random instances of many worlds.
#include "lib/planner/exact.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "lib/planner/solve.h"
#include "partitiontuner/planner/bounds.h"
#include "partitiontuner/support/random.h"
#include "test/testing/planning_world.h"

namespace pt {
namespace {

using testing::MakeWorld;
using testing::World;
using testing::WorldOptions;

// Calls visit for every legal order of every cover, options and units.
template <typename Visit>
void ForEachSolution(const Space& space, Solution& solution, std::vector<bool>& covered, const Visit& visit) {
  if (std::ranges::count(covered, true) == static_cast<std::ptrdiff_t>(covered.size())) {
    visit(solution);
    return;
  }
  for (const Group& group : space.groups()) {
    const bool free = std::ranges::none_of(group.nodes, [&](NodeId n) { return covered[n.index()]; });
    const bool ready = std::ranges::all_of(group.in, [&](ValueId in) {
      const NodeId maker = space.value(in).producer;
      return !maker.valid() || covered[maker.index()];
    });
    if (!free || !ready) continue;
    for (NodeId node : group.nodes) covered[node.index()] = true;
    for (uint32_t option : group.options) {
      for (UnitId unit : space.units(space.option(option).unit_class)) {
        solution.push_back({option, unit});
        ForEachSolution(space, solution, covered, visit);
        solution.pop_back();
      }
    }
    for (NodeId node : group.nodes) covered[node.index()] = false;
  }
}

int64_t BruteForce(const Space& space) {
  Scheduler scheduler(space);
  int64_t best = kImpossible;
  Solution solution;
  std::vector<bool> covered(space.graph().nodes().size(), false);
  ForEachSolution(space, solution, covered,
                  [&](const Solution& complete) { best = std::min(best, scheduler.Run(complete)); });
  return best;
}

void CheckAgainstBruteForce(const World& world) {
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  const ExactResult exact = FindExact(space, {}, {});
  CHECK(exact.proven);
  CHECK(exact.makespan_ns == BruteForce(space));
  CHECK(Scheduler(space).Run(exact.solution) == exact.makespan_ns);
}

TEST_CASE("Exact, FindsWhatBruteForceFinds", "[planner][exact]") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    WorldOptions options;
    options.accelerator = seed % 2 == 0;
    options.blocked = seed % 4 < 2;
    const size_t nodes = options.blocked ? 2 + seed % 2 : 3 + seed % 2;
    CheckAgainstBruteForce(MakeWorld(testing::RandomGraph(seed, nodes), options, seed));
  }
}

}  // namespace
}  // namespace pt
