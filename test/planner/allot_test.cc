// Hand-worked cases of how many cores groups get.
#include "lib/planner/methods/allot.h"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>

#include "lib/planner/search/serial_dp.h"
#include "test/testing/random_world.h"

namespace pt::allot_test {
namespace {

using testing::World;

// Every node on 1, 2 and 4 of four cores: `ns` of the node by width.
World FourCores(Graph graph, const std::vector<std::array<int64_t, 3>>& ns) {
  World world{std::move(graph), testing::Cores(4), {}, {}};
  for (size_t n = 0; n < world.graph.nodes().size(); ++n) {
    const std::vector<NodeId> nodes = {NodeId(n)};
    Candidate candidate = RowMajorCandidate(world.graph, nodes, "made-up");
    for (size_t c = 0; c < 3; ++c) {
      candidate.unit_class = UnitClassId(c);
      world.costs.SetRunOf(candidate, ns[n][c]);
      world.candidates.push_back(candidate);
    }
  }
  return world;
}

std::vector<int64_t> Makespans(const Space& space, const std::vector<Solution>& solutions) {
  Scheduler scheduler(space);
  std::vector<int64_t> makespans;
  for (const Solution& solution : solutions) makespans.push_back(scheduler.Run(solution));
  CHECK(std::ranges::count(makespans, kImpossible) == 0);
  return makespans;
}

TEST_CASE("Allotment, LongBranchesGetTheCoresThatShortOnesDoNotNeed", "[planner]") {
  // v0, then v1 beside v2, then v3. v2 takes 400 on one core, 210 on two, 205 on four; v1 200 on one and no less on
  // more. Beside each other on one and two cores they take 210; v0 and v3 gain by all four.
  const World world = FourCores(testing::Diamond(), {{100, 60, 40}, {200, 200, 200}, {400, 210, 205}, {100, 60, 40}});
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  const Solution cover = SolveSerial(space, {}).value();
  const std::vector<int64_t> makespans = Makespans(space, ScheduleByAllotment(space, cover));
  REQUIRE(!makespans.empty());
  CHECK(makespans.front() == 100 + 400 + 100);  // everything on one core
  CHECK(std::ranges::min(makespans) == 40 + 210 + 40);
}

TEST_CASE("CorePrice, CoresThatGainLittleAreLeftToOthers", "[planner]") {
  // Greedily each branch takes all cores, 90 for 100 on one: 180 one after the other.
  const World world = FourCores(testing::Diamond(), {{10, 10, 10}, {100, 95, 90}, {100, 95, 90}, {10, 10, 10}});
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  const Solution cover = SolveSerial(space, {}).value();
  CHECK(std::ranges::min(Makespans(space, ScheduleByCorePrice(space, cover))) == 10 + 100 + 10);
}

TEST_CASE("Allotment, IsNothingWhereWidthIsNoChoice", "[planner]") {
  World world = FourCores(testing::Chain(3), {{10, 10, 10}, {10, 10, 10}, {10, 10, 10}});
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  const Solution cover = SolveSerial(space, {}).value();
  CHECK(ScheduleByAllotment(space, cover).empty());
  CHECK(ScheduleByCorePrice(space, cover).empty());
}

TEST_CASE("Allotment, EveryScheduleIsLegalAndComplete", "[planner]") {
  for (const testing::MachineKind machine : testing::kMachineKinds) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const World world = testing::RandomWorld(seed, 20, machine);
      const PlanningProblem problem = world.problem();
      const Space space = Space::Make(problem).value();
      const Solution cover = SolveSerial(space, {}).value();
      INFO("machine " << static_cast<int>(machine) << ", seed " << seed);
      Makespans(space, ScheduleByAllotment(space, cover));
      Makespans(space, ScheduleByCorePrice(space, cover));
    }
  }
}

}  // namespace
}  // namespace pt::allot_test
