// Hand-worked cases of the search: which moves it has, and when it stops.
#include <array>
#include <catch2/catch_test_macros.hpp>

#include "test/testing/planning_world.h"

namespace pt {
namespace {

using testing::MakeWorld;
using testing::World;

Plan BySearch(const World& world, uint64_t effort = 0, int64_t time_limit_ns = 0) {
  PlanningProblem problem = world.problem();
  problem.effort = effort;
  problem.time_limit_ns = time_limit_ns;
  Plan plan = FindPlanner("search").value()->make_plan(problem, nullptr).value();
  CHECK(testing::FaultText(world, plan) == "");
  return plan;
}

// Cores 0 to 3 as four units of one core, two of two and one of four.
Platform FourCores() {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "made-up"});
  for (uint32_t core = 0; core < 4; ++core) {
    platform.resources.push_back({"core " + std::to_string(core), 1.0, core});
  }
  for (uint32_t width : {1u, 2u, 4u}) {
    platform.unit_classes.push_back({"cpu/" + std::to_string(width), DeviceId(0u), width});
    const UnitClassId unit_class(platform.unit_classes.size() - 1);
    for (uint32_t first = 0; first < 4; first += width) {
      Unit unit;
      unit.name = "cpu[" + std::to_string(first) + "-" + std::to_string(first + width - 1) + "]";
      unit.unit_class = unit_class;
      for (uint32_t core = first; core < first + width; ++core) unit.uses.emplace_back(ResourceId(core), 1.0);
      platform.units.push_back(std::move(unit));
    }
  }
  return platform;
}

// Row-major single nodes on every class, each taking the class's time.
void ProposeSingles(World& world, std::span<const int64_t> ns_of_class) {
  for (size_t n = 0; n < world.graph.nodes().size(); ++n) {
    for (size_t c = 0; c < world.platform.unit_classes.size(); ++c) {
      Candidate candidate;
      candidate.nodes = {NodeId(n)};
      candidate.unit_class = UnitClassId(c);
      candidate.library = "made-up";
      const Form form = {RowMajor(4), DataType::kFloat32};
      candidate.in.assign(GroupInputs(world.graph, candidate.nodes).size(), form);
      candidate.out.assign(GroupOutputs(world.graph, candidate.nodes).size(), form);
      world.costs.SetRunOf(candidate, ns_of_class[c]);
      world.candidates.push_back(std::move(candidate));
    }
  }
}

TEST_CASE("Search, PairsWideStepsOnUnitsOfAnyNarrowerWidth", "[planner]") {
  // The branches of the diamond take 100 + 100 on all cores one after the other, 150 on two cores each side by side,
  // and 320 on one core each: only the pair of two cores gains, and neither branch gains by moving alone.
  World world{testing::Diamond(), FourCores(), {}, {}};
  ProposeSingles(world, std::array<int64_t, 3>{320, 150, 100});
  CHECK(BySearch(world).makespan.ns == 350);
}

TEST_CASE("Search, ATimeLimitThatIsOverAllowsNoMoveAtAll", "[planner]") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 5 + seed * 4), {}, seed);
    INFO("random graph " << seed);
    const Plan limited = BySearch(world, 0, 1);
    CHECK(testing::OrderText(world, limited) == testing::OrderText(world, BySearch(world, 1)));
    CHECK(limited.report.stopped_by == "time");
  }
}

TEST_CASE("Search, ImpossibleMovesOfManyInputsAreStillImpossible", "[planner]") {
  // Only the values at the boundary can change their form, so of the concatenations of four values only those that
  // take what the convolutions make can be used. Moves that cost kImpossible each add up to no more than that.
  World world = MakeWorld(testing::Inception(2), {.fused = false, .elided = false, .accelerator = false});
  const int64_t boundary = 2 * 32 * 4 * 4;
  world.costs.SetReorder(
      [=](std::span<const int64_t> dims, const Form&, const Form&, UnitClassId) -> std::optional<int64_t> {
        int64_t elements = 1;
        for (int64_t d : dims) elements *= d;
        return elements == boundary ? std::optional<int64_t>(100) : std::nullopt;
      });
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    PlanningProblem problem = world.problem();
    problem.seed = seed;
    const Plan plan = FindPlanner("search").value()->make_plan(problem, nullptr).value();
    CHECK(testing::FaultText(world, plan) == "");
    CHECK(plan.makespan.ns < 10'000'000);
  }
}

}  // namespace
}  // namespace pt
