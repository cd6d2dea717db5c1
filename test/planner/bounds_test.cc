// Lower bounds: below every plan, on every kind of machine, and hand-worked cases of each.
#include "partitiontuner/planner/bounds.h"

#include <catch2/catch_test_macros.hpp>

#include "lib/planner/solve.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/random_world.h"

namespace pt::bounds_test {
namespace {

using testing::RandomWorld;
using testing::World;

TEST_CASE("EveryBound, IsBelowAThousandRandomPlansOnEveryMachine", "[planner][slow]") {
  for (const testing::MachineKind machine : testing::kMachineKinds) {
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

// Launches that a queue hides run while the step before works, so bounds of segments must not add them up.
TEST_CASE("EveryBound, CountsNoLaunchesInSegments", "[planner]") {
  World world = testing::MakeWorld(testing::Chain(12), {.fused = false, .blocked = false});
  Platform& platform = world.platform;
  // One core only, which launches what the accelerator runs.
  std::erase_if(platform.units, [](const Unit& unit) { return unit.name == "cpu[1]" || unit.name == "cpu[0-1]"; });
  for (Unit& unit : platform.units) {
    if (unit.driver) unit.driver = ResourceId(0u);
  }
  world.costs.SetOverhead(FindUnitClass(platform, "acc:0"), 8000);
  for (const Candidate& candidate : world.candidates) {
    const bool on_host = platform.unit_class(candidate.unit_class).device == kHostDevice;
    const int64_t short_or_long_ns = candidate.nodes.front().index() % 2 == 0 ? 10'000 : 1000;
    world.costs.SetRunOf(candidate, on_host ? 1'000'000 : short_or_long_ns);
  }
  const PlanningProblem problem = world.problem();
  const int64_t search = testing::PlanOf(world, "search").makespan.ns;
  for (const Bound& bound : LowerBounds(problem)) {
    INFO(bound.name);
    CHECK(bound.ns <= search);
  }
}

// Each value of a chain ends a segment; the slots between them are chained, so nothing of the path is lost.
TEST_CASE("PathsAndWork, IsNotBelowThePathOfAChain", "[planner]") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const World world = testing::MakeWorld(testing::Chain(5 + seed % 7), {}, seed);
    const std::vector<Bound> bounds = LowerBounds(world.problem());
    INFO("seed " << seed);
    CHECK(bounds[6].ns >= bounds[1].ns - 1);
  }
}

// Two branches, one of them long on the host only: the path wants the accelerator, which the work of both overloads.
TEST_CASE("PathsAndWork, IsAboveEachAlone", "[planner]") {
  const Graph graph = ParseGraph(
                          "input x float32[2,8,4,4]\n"
                          "a = Tanh(x) : float32[2,8,4,4]\nb = Tanh(a) : float32[2,8,4,4]\n"
                          "c = Tanh(a) : float32[2,8,4,4]\nd = Add(b, c) : float32[2,8,4,4]\n"
                          "e = Tanh(d) : float32[2,8,4,4]\noutput e\n")
                          .value();
  World world = testing::MakeWorld(graph, {.fused = false, .blocked = false});
  // b and c: 40 us on a core, 20 us on the accelerator; the rest 1 us on the host, nothing to gain elsewhere.
  for (const Candidate& candidate : world.candidates) {
    const size_t node = candidate.nodes.front().index();
    const bool on_host = world.platform.unit_class(candidate.unit_class).device == kHostDevice;
    const bool heavy = node == 1 || node == 2;
    world.costs.SetRunOf(candidate, heavy ? (on_host ? 40'000 : 20'000) : (on_host ? 1000 : 50'000));
  }
  const std::vector<Bound> bounds = LowerBounds(world.problem());
  int64_t others = 0;
  for (size_t b = 0; b < 6; ++b) others = std::max(others, bounds[b].ns);
  CHECK(bounds[6].name == "L7 paths and work");
  CHECK(bounds[6].ns > others);
  CHECK(bounds[7].name == "L8 cases");
  CHECK(bounds[7].ns >= bounds[6].ns);
  CHECK(bounds[7].ns <= testing::PlanOf(world, "search").makespan.ns);
}

// Three nodes side by side, 60 us on a core or 20 us on the accelerator: whoever gives each of them to both in parts
// needs some 36 us, every plan 60.
TEST_CASE("Cases, NoNodeRunsInParts", "[planner]") {
  const Graph graph = ParseGraph(
                          "input x float32[2,8,4,4]\n"
                          "a = Tanh(x) : float32[2,8,4,4]\nb = Tanh(a) : float32[2,8,4,4]\n"
                          "c = Tanh(a) : float32[2,8,4,4]\nd = Tanh(a) : float32[2,8,4,4]\n"
                          "e = Sum(b, c, d) : float32[2,8,4,4]\noutput e\n")
                          .value();
  World world = testing::MakeWorld(graph, {.fused = false, .blocked = false});
  for (const Candidate& candidate : world.candidates) {
    const size_t node = candidate.nodes.front().index();
    const bool on_host = world.platform.unit_class(candidate.unit_class).device == kHostDevice;
    const bool heavy = node >= 1 && node <= 3;
    world.costs.SetRunOf(candidate, heavy ? (on_host ? 60'000 : 20'000) : (on_host ? 1000 : 50'000));
  }
  const std::vector<Bound> bounds = LowerBounds(world.problem());
  CHECK(bounds[6].ns < 50'000);
  CHECK(bounds[7].ns >= 60'000);
  CHECK(bounds[7].ns <= testing::PlanOf(world, "search").makespan.ns);
}

}  // namespace
}  // namespace pt::bounds_test
