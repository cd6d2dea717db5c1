// How long planning takes: printed, never judged, for machines differ. What checks nothing else is tagged [.nightly].
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <optional>

#include "lib/planner/schedule/assemble.h"
#include "lib/planner/search/moves.h"
#include "lib/planner/search/serial_dp.h"
#include "lib/planner/solve.h"
#include "partitiontuner/planner/bounds.h"
#include "test/testing/random_world.h"

namespace pt::scale_test {
namespace {

using testing::MakeWorld;
using testing::World;

// What a call took, in milliseconds.
template <typename Call>
int64_t Milliseconds(Call call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
}

int64_t MillisecondsOf(const World& world, std::string_view name, Plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  Result<Plan> made = FindPlanner(name).value()->make_plan(world.problem(), nullptr);
  const auto spent = std::chrono::steady_clock::now() - start;
  REQUIRE(made.ok());
  plan = std::move(*made);
  return std::chrono::duration_cast<std::chrono::milliseconds>(spent).count();
}

void Report(const std::string& what, const World& world, const std::vector<std::string>& names) {
  const auto start = std::chrono::steady_clock::now();
  const Bound bound = BestBound(world.problem());
  const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  std::string text = what + ", " + std::to_string(world.candidates.size()) + " candidates, bound " + bound.name + " " +
                     std::to_string(bound.ns) + " ns in " + std::to_string(spent.count()) + " ms";
  for (const std::string& name : names) {
    Plan plan;
    const int64_t ms = MillisecondsOf(world, name, plan);
    CHECK(bound.ns <= plan.makespan.ns);
    text += "\n  " + name + ": " + std::to_string(plan.makespan.ns) + " ns, " + std::to_string(ms) + " ms, gap " +
            std::to_string(100 * (plan.makespan.ns - bound.ns) / bound.ns) + " %";
  }
  WARN(text);
}

TEST_CASE("Planners, TimeOnNetworks", "[planner][slow]") {
  const std::vector<std::string> names = {"single", "static-type", "per-op", "partitiontuner", "heft", "search"};
  Report("residual, 101 nodes", MakeWorld(testing::Residual(20)), names);
  Report("residual, 101 nodes, host", MakeWorld(testing::Residual(20), {.accelerator = false}), names);
  Report("inception, 137 nodes", MakeWorld(testing::Inception(9)), names);
  Report("inception, 137 nodes, host", MakeWorld(testing::Inception(9), {.accelerator = false}), names);
}

// Planning with the effort that users get.
TEST_CASE("Search, TimeOnRepeatedBlocks", "[planner][slow]") {
  for (const size_t blocks : {7, 20, 67}) {
    for (const bool accelerator : {false, true}) {
      const World world = testing::RepeatedBlocks(blocks, {.accelerator = accelerator});
      PlanningProblem problem = world.problem();
      problem.effort = 0;
      const Bound bound = BestBound(problem);
      Plan plan;
      const int64_t ms =
          Milliseconds([&] { plan = FindPlanner("search").value()->make_plan(problem, nullptr).value(); });
      CHECK(bound.ns <= plan.makespan.ns);
      WARN(world.graph.nodes().size() << " nodes, accelerator " << accelerator << ": " << plan.makespan.ns << " ns in "
                                      << ms << " ms, bound " << bound.ns << " ns");
    }
  }
}

TEST_CASE("Planners, TimeOnLargeRandomGraphs", "[planner][slow]") {
  Report("random, 1,000 nodes", MakeWorld(testing::RandomGraph(1, 1000)), {"single", "heft", "search"});
  Report("random, 10,000 nodes", MakeWorld(testing::RandomGraph(1, 10000)), {"heft"});
}

// The parts of planning apart: indexing candidates, the search, and writing the plan.
void ReportSearch(const std::string& what, const World& world) {
  PlanningProblem problem = world.problem();
  problem.effort = 0;  // what users get
  std::optional<Space> space;
  const int64_t space_ms = Milliseconds([&] { space.emplace(Space::Make(problem).value()); });
  const auto search = std::find_if(Solvers().begin(), Solvers().end(),
                                   [](const Solver& solver) { return solver.planner.name == "search"; });
  Solved solved;
  const int64_t search_ms = Milliseconds([&] { solved = search->solve(*space, "").value(); });
  int64_t makespan_ns = 0;
  const int64_t plan_ms =
      Milliseconds([&] { makespan_ns = Assemble(*space, solved.order, "search").value().makespan.ns; });
  WARN(what << ": " << makespan_ns << " ns; space " << space_ms << " ms, search " << search_ms << " ms, plan "
            << plan_ms << " ms, stopped by " << solved.stopped_by);
}

void ReportSearches(size_t nodes) {
  const std::string of = ", " + std::to_string(nodes) + " nodes";
  ReportSearch("chain" + of, MakeWorld(testing::Chain(nodes)));
  ReportSearch("residual" + of, MakeWorld(testing::Residual(nodes / 5)));
  ReportSearch("fork-join" + of, MakeWorld(testing::Inception(nodes / 15)));
  ReportSearch("random" + of, MakeWorld(testing::RandomGraph(1, nodes)));
  ReportSearch("fork-join on the host" + of, MakeWorld(testing::Inception(nodes / 15), {.accelerator = false}));
}

TEST_CASE("Search, TimeOnAThousandNodes", "[.nightly]") { ReportSearches(1000); }
TEST_CASE("Search, TimeOnTenThousandNodes", "[.nightly]") { ReportSearches(10'000); }
TEST_CASE("Search, TimeOnAHundredThousandNodes", "[.nightly]") { ReportSearches(100'000); }

// By how much planning takes longer than its limit; below zero: it ends before.
void ReportLimits(const std::string& what, const World& world) {
  std::string text = what + ":";
  for (const int64_t limit_ms : {500, 1000, 2000, 4000, 8000}) {
    PlanningProblem problem = world.problem();
    problem.effort = UINT64_MAX / 4;
    problem.time_limit_ns = limit_ms * 1'000'000;
    Plan plan;
    const int64_t ms = Milliseconds([&] { plan = FindPlanner("search").value()->make_plan(problem, nullptr).value(); });
    text += " limit " + std::to_string(limit_ms) + " ms, over by " + std::to_string(ms - limit_ms) + ", " +
            std::to_string(plan.makespan.ns) + " ns;";
  }
  WARN(text);
}

TEST_CASE("Search, TimeOverItsLimit", "[.nightly]") {
  for (const size_t nodes : {1000, 10'000, 100'000}) {
    const std::string of = ", " + std::to_string(nodes) + " nodes";
    ReportLimits("residual" + of, MakeWorld(testing::Residual(nodes / 5)));
    ReportLimits("fork-join" + of, MakeWorld(testing::Inception(nodes / 15)));
    ReportLimits("random" + of, MakeWorld(testing::RandomGraph(1, nodes)));
  }
}

// Moves drawn and tried as the search does on graphs of that size, from a single stream over all devices.
void ReportMoves(const std::string& what, const World& world, int moves) {
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  WindowScheduler now(space);
  Random random(problem.seed);
  Moves draw(space, now, random);
  REQUIRE(now.Reset(SolveSerial(space, {}).value()));
  const int64_t before_ns = now.score().makespan_ns;
  std::vector<uint32_t> critical;
  int tried = 0, kept = 0;
  std::chrono::nanoseconds trying{}, keeping{};
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < moves; ++i) {
    if (critical.empty()) critical = now.CriticalChoices();
    std::optional<Window> change = draw.Draw(critical[random.Below(critical.size())]);
    if (!change) continue;
    ++tried;
    const Score score = now.score();
    const auto start = std::chrono::steady_clock::now();
    const bool better = now.Try(std::move(*change), WindowScheduler::Wanted::kBetter) < score;
    const auto judged = std::chrono::steady_clock::now();
    if (better) {
      now.Commit();
      critical.clear();
      ++kept;
    } else {
      now.Drop();
    }
    trying += judged - start;
    keeping += std::chrono::steady_clock::now() - judged;
  }
  const auto ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  WARN(what << "\n  " << moves << " moves: " << ns / moves << " ns each\n  " << tried
            << " tried: " << trying.count() / std::max(1, tried) << " ns each\n  " << kept
            << " kept: " << keeping.count() / std::max(1, kept) << " ns each\n  " << before_ns << " to "
            << now.score().makespan_ns << " ns, " << now.spent() << " spent");
}

TEST_CASE("WindowScheduler, TimeOfMoves", "[.nightly]") {
  constexpr int kMoves = 20'000;
  for (const size_t nodes : {1000, 10'000}) {
    const std::string of = ", " + std::to_string(nodes) + " nodes";
    SECTION("residual" + of) { ReportMoves("residual" + of, MakeWorld(testing::Residual(nodes / 5)), kMoves); }
    SECTION("fork-join" + of) { ReportMoves("fork-join" + of, MakeWorld(testing::Inception(nodes / 15)), kMoves); }
    SECTION("random" + of) { ReportMoves("random" + of, MakeWorld(testing::RandomGraph(1, nodes)), kMoves); }
    SECTION("fork-join on the host" + of) {
      ReportMoves("fork-join, host" + of, MakeWorld(testing::Inception(nodes / 15), {.accelerator = false}), kMoves);
    }
    SECTION("random on the host" + of) {
      ReportMoves("random, host" + of, MakeWorld(testing::RandomGraph(1, nodes), {.accelerator = false}), kMoves);
    }
  }
}

TEST_CASE("EveryBound, IsBelowAThousandRandomPlans", "[planner][slow]") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const World world = MakeWorld(testing::RandomGraph(seed, 20), {}, seed);
    const std::vector<Bound> bounds = LowerBounds(world.problem());
    for (int plan_seed = 1; plan_seed <= 200; ++plan_seed) {
      PlanningProblem problem = world.problem();
      const std::string argument = std::to_string(plan_seed);
      problem.argument = argument;
      const int64_t makespan = FindPlanner("random").value()->make_plan(problem, nullptr).value().makespan.ns;
      for (const Bound& bound : bounds) {
        INFO("seed " << seed << ", random:" << plan_seed << ", " << bound.name);
        CHECK(bound.ns <= makespan);
      }
    }
  }
}

}  // namespace
}  // namespace pt::scale_test
