// Scheduling a change from where it begins says what scheduling the whole says, of thousands of random changes.
#include "lib/planner/search/window_scheduler.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "lib/planner/solve.h"
#include "partitiontuner/support/random.h"
#include "test/testing/random_world.h"

namespace pt::window_scheduler_test {
namespace {

using testing::MakeWorld;
using testing::World;

// A random other option, unit, grouping or order for some choices next to each other; nothing when it comes to nothing.
class RandomChanges {
 public:
  RandomChanges(const Space& space, uint64_t seed) : space_(space), random_(seed) {}

  std::optional<Window> Make(const Solution& now) {
    if (random_.Below(3) == 0) return Scattered(now);
    Window window;
    window.from = static_cast<uint32_t>(random_.Below(now.size()));
    window.to = static_cast<uint32_t>(std::min<size_t>(now.size(), window.from + 1 + random_.Below(8)));
    window.choices.assign(now.begin() + window.from, now.begin() + window.to);
    switch (random_.Below(4)) {
      case 0:
        return Permuted(window) ? std::optional(window) : std::nullopt;
      case 1:
        return Regrouped(window) ? std::optional(window) : std::nullopt;
      default:
        for (Choice& choice : window.choices) {
          if (random_.Below(2) == 0) choice = Any(space_.option(choice.option).group);
        }
        return window;
    }
  }

 private:
  Choice Any(uint32_t group) {
    const std::vector<uint32_t>& options = space_.group(group).options;
    const uint32_t option = options[random_.Below(options.size())];
    const std::span<const UnitId> units = space_.units(space_.option(option).unit_class);
    return {option, units[random_.Below(units.size())]};
  }

  // A few choices anywhere; all between them stays.
  Window Scattered(const Solution& now) {
    std::vector<size_t> places(1 + random_.Below(3));
    for (size_t& place : places) place = random_.Below(now.size());
    const auto [first, last] = std::minmax_element(places.begin(), places.end());
    Window window{static_cast<uint32_t>(*first), static_cast<uint32_t>(*last + 1), {}};
    window.choices.assign(now.begin() + window.from, now.begin() + window.to);
    for (size_t place : places) {
      Choice& choice = window.choices[place - window.from];
      choice = Any(space_.option(choice.option).group);
    }
    return window;
  }

  // Any order, legal or not.
  bool Permuted(Window& window) {
    for (size_t i = window.choices.size(); i > 1; --i)
      std::swap(window.choices[i - 1], window.choices[random_.Below(i)]);
    return true;
  }

  // The nodes of the window in any groups that lie within it.
  bool Regrouped(Window& window) {
    std::vector<NodeId> open;
    for (const Choice& choice : window.choices) {
      const std::vector<NodeId>& nodes = space_.group_of(choice.option).nodes;
      open.insert(open.end(), nodes.begin(), nodes.end());
    }
    std::sort(open.begin(), open.end());
    window.choices.clear();
    while (!open.empty()) {
      const std::span<const uint32_t> groups = space_.groups_of(open.front());
      uint32_t group = groups[random_.Below(groups.size())];
      const auto fits = [&](uint32_t g) {
        const std::vector<NodeId>& nodes = space_.group(g).nodes;
        return !space_.group(g).options.empty() && std::includes(open.begin(), open.end(), nodes.begin(), nodes.end());
      };
      if (!fits(group)) group = space_.single_group(open.front());
      if (group == kNothing || !fits(group)) return false;
      window.choices.push_back(Any(group));
      std::erase_if(open, [&](NodeId n) {
        return std::binary_search(space_.group(group).nodes.begin(), space_.group(group).nodes.end(), n);
      });
    }
    return true;
  }

  const Space& space_;
  Random random_;
};

struct Tally {
  int changes = 0, possible = 0, refused = 0, kept = 0;
};

// Runs changes against Scheduler::Run of the whole. Every third that is not worse is dropped, the others stay; now and
// then the schedule starts from a worse solution, so that many changes are better.
void CompareWithWhole(const World& world, uint64_t seed, int changes, Tally& tally) {
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  const auto random_start = [&](uint64_t start) {
    const auto solver =
        std::find_if(Solvers().begin(), Solvers().end(), [](const Solver& s) { return s.planner.name == "random"; });
    return solver->solve(space, std::to_string(start)).value().order;
  };
  WindowScheduler windows(space);
  Scheduler whole(space);
  RandomChanges random(space, seed);
  for (int i = 0; i < changes; ++i) {
    if (i % 40 == 0) REQUIRE(windows.Reset(random_start(seed * 1000 + static_cast<uint64_t>(i))));
    const std::optional<Window> change = random.Make(windows.solution());
    if (!change) continue;
    INFO("change " << i << " at [" << change->from << ", " << change->to << ") of " << windows.solution().size());
    Solution changed = windows.solution();
    changed.erase(changed.begin() + change->from, changed.begin() + change->to);
    changed.insert(changed.begin() + change->from, change->choices.begin(), change->choices.end());
    Score score;
    score.makespan_ns = whole.Run(changed);
    if (score.makespan_ns < kImpossible) score.work_ns = whole.work_ns();
    ++tally.changes;
    tally.possible += score.makespan_ns < kImpossible;
    const bool better_only = i % 5 == 0;
    const Score tried =
        windows.Try(*change, better_only ? WindowScheduler::Wanted::kBetter : WindowScheduler::Wanted::kNotWorse);
    const bool may_be_refused = windows.score() < score || (better_only && score == windows.score());
    if (may_be_refused && tried == Score()) {
      ++tally.refused;
      continue;
    }
    REQUIRE(score <= windows.score());
    REQUIRE(tried.makespan_ns == score.makespan_ns);
    REQUIRE(tried.work_ns == score.work_ns);
    if (i % 3 == 0) {
      windows.Drop();
      continue;
    }
    windows.Commit();
    ++tally.kept;
    REQUIRE(windows.solution() == changed);
    REQUIRE(windows.score() == score);
    REQUIRE(std::ranges::equal(windows.steps(), whole.steps()));
    REQUIRE(std::ranges::equal(windows.waits(), whole.waits()));
  }
}

TEST_CASE("WindowScheduler, SaysOfRandomChangesWhatTheWholeScheduleSays", "[planner]") {
  Tally tally;
  for (uint64_t seed = 1; seed <= 16; ++seed) {
    INFO("seed " << seed);
    CompareWithWhole(MakeWorld(testing::RandomGraph(seed, 4 + seed * 6), {}, seed), seed, 500, tally);
    CompareWithWhole(MakeWorld(testing::RandomGraph(seed, 60), {.accelerator = false}, seed), seed, 300, tally);
  }
  CompareWithWhole(MakeWorld(testing::Inception(6)), 1, 1500, tally);
  CompareWithWhole(MakeWorld(testing::Residual(12)), 2, 1500, tally);
  CompareWithWhole(MakeWorld(testing::Chain(40)), 3, 1000, tally);
  CompareWithWhole(MakeWorld(testing::TwoConcatenations()), 4, 1000, tally);
  CompareWithWhole(MakeWorld(testing::Inception(2), {.contention = true}), 5, 300, tally);
  CompareWithWhole(MakeWorld(testing::Inception(2), {.captures = true}), 6, 300, tally);
  CompareWithWhole(MakeWorld(testing::RandomGraph(7, 40), {.captures = true}, 7), 7, 300, tally);
  INFO(tally.changes << " changes, " << tally.possible << " possible, " << tally.kept << " kept");
  CHECK(tally.changes > 10'000);
  CHECK(tally.refused > 1'000);
  CHECK(tally.kept > 1'000);
}

TEST_CASE("WindowScheduler, SaysOnAllMachinesWhatTheWholeScheduleSays", "[planner]") {
  Tally tally;
  for (const testing::MachineKind machine : testing::kMachineKinds) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      INFO("machine " << static_cast<int>(machine) << ", seed " << seed);
      CompareWithWhole(testing::RandomWorld(seed, 12 + seed * 8, machine), seed, 250, tally);
    }
    INFO("machine " << static_cast<int>(machine));
    CompareWithWhole(testing::RandomWorld(1, 1, machine), 1, 20, tally);
    CompareWithWhole(testing::RandomWorld(2, 2, machine), 2, 40, tally);
  }
  CHECK(tally.kept > 1'000);
}

// Two streams that ask for three quarters of their device each.
World BusyStreams(uint64_t seed, size_t nodes) {
  World world = testing::RandomWorld(seed, nodes, testing::MachineKind::kSharedQueue);
  for (Unit& unit : world.platform.units) {
    if (unit.name.starts_with("acc:0#")) unit.uses.front().second = 0.75;
  }
  return world;
}

TEST_CASE("WindowScheduler, StreamsThatSlowEachOtherDownAreRunBesideEachOther", "[planner]") {
  Tally tally;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    INFO("seed " << seed);
    CompareWithWhole(BusyStreams(seed, 6 + seed * 6), seed, 300, tally);
  }
  CHECK(tally.refused > 500);
  CHECK(tally.kept > 200);
}

TEST_CASE("WindowScheduler, ValuesOfManyReadersAndLongConcatenations", "[planner]") {
  Tally tally;
  CompareWithWhole(MakeWorld(testing::RandomGraph(1, 700)), 1, 400, tally);
  CompareWithWhole(MakeWorld(testing::Fan(150)), 2, 600, tally);
  CompareWithWhole(MakeWorld(testing::Fan(150), {.accelerator = false}), 3, 600, tally);
  CompareWithWhole(MakeWorld(testing::Fan(600), {.accelerator = false}), 4, 100, tally);
  CHECK(tally.kept > 100);
}

}  // namespace
}  // namespace pt::window_scheduler_test
