// WorkerTeam, in every order of its cores: each share runs once, the leader goes on after all of them, and nobody is
// left in a team that was released.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <memory>

#include "lib/exec/team.h"
#include "test/schedules/strategies.h"

namespace pt::schedules::team_schedules_test {
namespace {

constexpr uint64_t kNoEnd = ~uint64_t{0};

// A team whose leader starts what `work` starts, gathered `gatherings` times.
struct TeamSetting {
  World world;
  WorkerTeam team;
  uint32_t gatherings;
  std::function<void(TeamSetting&)> work;
  // By index of a body: what it leaves behind, and how often it ran since the leader looked.
  std::vector<std::unique_ptr<Plain<uint32_t>>> cells;
  Plain<uint32_t> before;  // written by the leader, read by all bodies
  uint32_t stamp = 0;

  TeamSetting(uint32_t width, uint32_t times, std::function<void(TeamSetting&)> what)
      : team(width, false), gatherings(times), work(std::move(what)) {
    for (uint32_t i = 0; i < 2 * width; ++i) cells.push_back(std::make_unique<Plain<uint32_t>>());
  }

  void Region(uint32_t n, bool everywhere) {
    ++stamp;
    before.write(stamp);
    for (uint32_t i = 0; i < n; ++i) cells[i]->write(0);
    auto body = [this](uint32_t i, uint32_t) {
      if (before.read() != stamp) world.Fail("a share of another region runs");
      world.Pause();
      cells[i]->write(cells[i]->read() + 1);
    };
    everywhere ? team.OnEveryCore(body) : team.ParallelFor(n, body);
    for (uint32_t i = 0; i < n; ++i) {
      if (cells[i]->read() != 1)
        world.Fail("share " + std::to_string(i) + " ran " + std::to_string(cells[i]->read()) + " times");
    }
  }

  std::vector<std::function<void()>> Cores() {
    std::vector<std::function<void()>> cores;
    cores.emplace_back([this] {
      for (uint32_t i = 0; i < gatherings; ++i) {
        team.Gather();
        work(*this);
        team.Release();
      }
    });
    for (uint32_t k = 1; k < team.width(); ++k) {
      cores.emplace_back([this, k] {
        for (uint32_t i = 0; i < gatherings; ++i) team.Help(k);
      });
    }
    return cores;
  }
};

void Loop(TeamSetting& setting) { setting.Region(setting.team.width(), false); }
void ParkedLoop(TeamSetting& setting) {
  setting.team.Park();
  setting.Region(setting.team.width(), false);
}
void TwoLoops(TeamSetting& setting) {
  setting.Region(setting.team.width(), false);
  setting.Region(2 * setting.team.width(), false);
}
void EveryCore(TeamSetting& setting) { setting.Region(setting.team.width(), true); }
void Nothing(TeamSetting&) {}

struct Case {
  const char* name;
  uint32_t width, gatherings;
  void (*work)(TeamSetting&);
};

void HoldsInEveryOrder(const Case& wanted) {
  TeamSetting setting(wanted.width, wanted.gatherings, wanted.work);
  EveryOrder orders;
  const Outcome outcome = Explore(setting.world, orders, setting.Cores(), kNoEnd);
  CAPTURE(wanted.name, outcome.executions, orders.redundant());
  CHECK(outcome.failure == "");
  CHECK(outcome.finished);
}

}  // namespace

TEST_CASE("Schedules, ATeamOfTwoRunsEachShareOnceInEveryOrder", "[schedules]") {
  HoldsInEveryOrder(GENERATE(Case{"a loop", 2, 1, Loop}, Case{"two gatherings", 2, 2, Nothing},
                             Case{"a body for every core", 2, 1, EveryCore}));
}

TEST_CASE("Schedules, AParkedTeamOfTwoRunsEachShareOnceInEveryOrder", "[schedules][slow]") {
  HoldsInEveryOrder({"a parked loop", 2, 1, ParkedLoop});
}

TEST_CASE("Schedules, ATeamOfThreeGathersAndLeavesInEveryOrder", "[schedules][slow]") {
  HoldsInEveryOrder({"nothing", 3, 1, Nothing});
}

// Has not been run to its end.
TEST_CASE("Schedules, ATeamOfThreeRunsEachShareOnceInEveryOrder", "[.][schedules_long]") {
  HoldsInEveryOrder({"a loop", 3, 1, Loop});
}

TEST_CASE("Schedules, TeamsRunEachShareOnceWithAFewDelays", "[schedules]") {
  const Case wanted =
      GENERATE(Case{"a loop", 3, 1, Loop}, Case{"two loops, twice", 3, 2, TwoLoops},
               Case{"a parked loop, twice", 3, 2, ParkedLoop}, Case{"a body for every core", 3, 2, EveryCore});
  TeamSetting setting(wanted.width, wanted.gatherings, wanted.work);
  setting.world.BufferStores(true);
  FewDelays orders(2);
  const Outcome outcome = Explore(setting.world, orders, setting.Cores(), kNoEnd);
  CAPTURE(wanted.name, outcome.executions);
  CHECK(outcome.failure == "");
}

TEST_CASE("Schedules, TeamsRunEachShareOnceInDrawnOrders", "[schedules]") {
  // 11 and more cores are a tree of two levels.
  const Case wanted =
      GENERATE(Case{"loops of 4 cores", 4, 3, TwoLoops}, Case{"parked loops of 3 cores", 3, 3, ParkedLoop},
               Case{"loops of 12 cores", 12, 2, TwoLoops}, Case{"bodies for each of 12 cores", 12, 2, EveryCore});
  TeamSetting setting(wanted.width, wanted.gatherings, wanted.work);
  setting.world.BufferStores(true);
  DrawnOrders orders(1, 3000, 4);
  const Outcome outcome = Explore(setting.world, orders, setting.Cores(), kNoEnd);
  CAPTURE(wanted.name, orders.seed());
  CHECK(outcome.failure == "");
}

}  // namespace pt::schedules::team_schedules_test
