// exact against brute force, search against exact, on random instances of many worlds.
#include "lib/planner/proofs/exact.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>

#include "lib/planner/schedule/assemble.h"
#include "lib/planner/search/search.h"
#include "lib/planner/search/serial_dp.h"
#include "lib/planner/solve.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/planner/bounds.h"
#include "partitiontuner/support/random.h"
#include "test/testing/random_world.h"
#include "test/testing/rounds.h"
#include "test/testing/seeds.h"

namespace pt::exact_test {
namespace {

using testing::kMachineKinds;
using testing::MachineKind;
using testing::RandomWorld;
using testing::SeedsOfNight;
using testing::World;

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

int64_t BruteForce(const Space& space, const std::function<bool(const Solution&)>& fits = nullptr) {
  Scheduler scheduler(space);
  int64_t best = kImpossible;
  Solution solution;
  std::vector<bool> covered(space.graph().nodes().size(), false);
  ForEachSolution(space, solution, covered, [&](const Solution& complete) {
    const int64_t makespan = scheduler.Run(complete);
    if (makespan < best && (!fits || fits(complete))) best = makespan;
  });
  return best;
}

TEST_CASE("Exact, FindsWhatBruteForceFinds", "[planner][exact]") {
  for (uint64_t seed = 1; seed <= testing::Rounds(150); ++seed) {
    const MachineKind machine = kMachineKinds[seed % std::size(kMachineKinds)];
    const bool small = seed % 3 == 0 || machine == MachineKind::kSharedQueue;  // several forms, or no dominance
    World world = RandomWorld(seed, small ? 2 + seed % 2 : 3 + seed % 2, machine);
    if (seed % 4 == 1) {  // launches of some libraries take less than a copy's, of others more
      world.costs.ChangeSteps(
          [](const Candidate& c, StepCost& cost) { cost.overhead.ns = 50 + 400 * int64_t{c.nodes.front().value % 5}; });
    }
    const PlanningProblem problem = world.problem();
    const Space space = Space::Make(problem).value();
    const ExactResult exact = FindExact(space, {}, {});
    INFO("seed " << seed);
    CHECK(exact.proven);
    CHECK(exact.makespan_ns == BruteForce(space));
    CHECK(Scheduler(space).Run(exact.solution) == exact.makespan_ns);
    for (const Bound& bound : LowerBounds(problem)) {
      INFO(bound.name);
      CHECK(bound.ns <= exact.makespan_ns);
    }
  }
}

TEST_CASE("Exact, FindsWhatBruteForceFindsUnderAMemoryCap", "[planner][exact]") {
  const DeviceId host(0u);
  int changed = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    World world = RandomWorld(seed, 3, seed % 2 == 0 ? MachineKind::kHost : MachineKind::kQueue);
    const Plan free = testing::PlanOf(world, "exact");
    const auto arena = free.memory.find(host);
    if (arena == free.memory.end() || arena->second.bytes < 2) continue;
    world.constraints.memory_caps[host] = arena->second.bytes - 1;
    const PlanningProblem problem = world.problem();
    const Space space = Space::Make(problem).value();
    const ExactResult exact = FindExact(space, {}, {});
    INFO("seed " << seed);
    CHECK(exact.proven);
    CHECK(exact.makespan_ns ==
          BruteForce(space, [&](const Solution& solution) { return Assemble(space, solution, "test").ok(); }));
    changed += exact.makespan_ns > free.makespan.ns && exact.makespan_ns < kImpossible;
  }
  CHECK(changed > 0);
}

struct Tally {
  int proven = 0, equal = 0, moved = 0;  // moved: as fast by starts and moves alone
  double worst = 0, worst_moved = 0;
  std::string missed;  // where moves alone do not come as far
};

double Above(int64_t ns, int64_t least) { return static_cast<double>(ns) / static_cast<double>(least) - 1; }

World InstanceOf(uint64_t seed) {
  return RandomWorld(seed, 2 + seed % 11, kMachineKinds[seed / 11 % std::size(kMachineKinds)]);
}

// Of the instances of `count` seeds from `first` on, those whose best plan is proven within the effort: how far search
// is above it, as users get it and by its starts and moves alone.
Tally Compare(uint64_t first, uint64_t count, uint64_t effort) {
  Tally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const World world = InstanceOf(seed);
    PlanningProblem problem = world.problem();
    problem.effort = 0;
    const Space space = Space::Make(problem).value();
    ExactLimits limits;
    limits.evaluations = effort;
    const ExactResult exact = FindExact(space, {}, limits);
    INFO("seed " << seed << ", exact " << exact.makespan_ns << " ns");
    for (const Bound& bound : LowerBounds(problem)) {
      INFO(bound.name);
      CHECK(bound.ns <= exact.makespan_ns);
    }
    if (!exact.proven) continue;
    const int64_t search = FindPlanner("search").value()->make_plan(problem, nullptr).value().makespan.ns;
    problem.effort = 50'000;  // a tenth of what moves get otherwise, or less
    const int64_t moved = Scheduler(space).Run(SearchBy(space, {.exactly = false}).value().order);
    INFO("search " << search << " ns, by moves alone " << moved << " ns");
    CHECK(search >= exact.makespan_ns);
    CHECK(moved >= exact.makespan_ns);
    ++tally.proven;
    tally.equal += search == exact.makespan_ns;
    tally.moved += moved == exact.makespan_ns;
    tally.worst = std::max(tally.worst, Above(search, exact.makespan_ns));
    tally.worst_moved = std::max(tally.worst_moved, Above(moved, exact.makespan_ns));
    if (moved > exact.makespan_ns) {
      tally.missed +=
          " " + std::to_string(seed) + " by " + std::to_string(100 * Above(moved, exact.makespan_ns)) + " %";
    }
  }
  UNSCOPED_INFO("of " << count << " instances " << tally.proven << " proven; search equals " << tally.equal
                      << ", the worst " << 100 * tally.worst << " % above; by moves alone " << tally.moved << " and "
                      << 100 * tally.worst_moved << " %, above in" << tally.missed);
  CHECK(tally.equal >= tally.proven * 95 / 100);
  CHECK(tally.worst <= 0.02);
  CHECK(tally.moved >= tally.proven * 95 / 100);
  return tally;
}

TEST_CASE("Search, EqualsExactOnSmallInstances", "[planner][exact]") { CHECK(Compare(1, 22, 20'000).proven > 8); }

TEST_CASE("Search, EqualsExactOnDozensOfInstances", "[planner][exact][slow]") {
  CHECK(Compare(1001, 66, 100'000).proven > 30);
}

// About an hour; PT_SEEDS=FIRST:COUNT takes a part.
TEST_CASE("Search, EqualsExactOnThousandsOfInstances", "[.nightly]") {
  const auto [first, count] = SeedsOfNight({10'001, 8000});
  const Tally tally = Compare(first, count, 100'000);
  WARN("seeds from " << first << ": " << tally.proven << " of " << count << " proven, " << tally.equal
                     << " equal, the worst " << 100 * tally.worst << " % above; by moves alone " << tally.moved
                     << " and " << 100 * tally.worst_moved << " %, above in" << tally.missed);
  CHECK(tally.proven > static_cast<int>(count / 2));
}

TEST_CASE("Exact, StopsAtItsEffortAndRefusesLargeModels", "[planner][exact]") {
  const World world = RandomWorld(87, 12, MachineKind::kTwoStreams);
  PlanningProblem problem = world.problem();
  problem.effort = 5000;
  const Planner& exact = *FindPlanner("exact").value();
  const Plan plan = exact.make_plan(problem, nullptr).value();
  CHECK(plan.report.stopped_by == "effort");
  CHECK(testing::FaultText(world, plan) == "");
  CHECK(exact.make_plan(problem, nullptr).value().makespan.ns == plan.makespan.ns);
  problem.effort = 0;
  problem.time_limit_ns = 1'000'000;
  const Result<Plan> limited = exact.make_plan(problem, nullptr);
  CHECK((limited.ok() ? limited->report.stopped_by == "time" : limited.error().code == ErrorCode::kInfeasible));

  const World large = testing::MakeWorld(testing::Chain(kMostExactNodes + 1));
  const Result<Plan> refused = exact.make_plan(large.problem(), nullptr);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kUsage);
  CHECK(refused.error().message.find("20 at most") != std::string::npos);
}

// Each of the inputs may be read on either device or on both: 3 to the 18th ways to begin.
TEST_CASE("Exact, TakesManyInputsOnTwoDevicesWithoutAProof", "[planner][exact]") {
  std::string text;
  for (int i = 0; i < 18; ++i) text += "input x" + std::to_string(i) + " float32[2,8,4,4]\n";
  for (int i = 0; i < 17; ++i) {
    const std::string before = i == 0 ? "x17" : "a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + " = Add(" + before + ", x" + std::to_string(i) + ") : float32[2,8,4,4]\n";
  }
  const World world = testing::MakeWorld(ParseGraph(text + "output a16\n").value());
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  ExactLimits limits;
  limits.evaluations = 20'000;
  const Solution start = SolveSerial(space, {}).value();
  const ExactResult exact = FindExact(space, start, limits);
  CHECK_FALSE(exact.proven);
  CHECK(exact.makespan_ns <= Scheduler(space).Run(start));
  CHECK(Scheduler(space).Run(exact.solution) == exact.makespan_ns);
}

TEST_CASE("Exact, KeepsPinsAndForbids", "[planner][exact]") {
  World world = RandomWorld(4, 5, MachineKind::kQueue);
  const UnitClassId narrow(0u);
  world.constraints.pin = {{NodeId(1u), narrow}};
  world.constraints.forbid = {{NodeId(3u), UnitClassId(1u)}};
  const Plan plan = testing::PlanOf(world, "exact");
  CHECK(testing::FaultText(world, plan) == "");
  for (const Candidate& candidate : plan.candidates) {
    for (NodeId node : candidate.nodes) {
      if (node == NodeId(1u)) CHECK(candidate.unit_class == narrow);
      if (node == NodeId(3u)) CHECK(candidate.unit_class != UnitClassId(1u));
    }
  }
}

}  // namespace
}  // namespace pt::exact_test
