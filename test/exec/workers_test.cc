// The executor's own building blocks: flags, teams, queues of cores.
#include "lib/exec/workers.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "lib/exec/team.h"
#include "partitiontuner/exec/unit_runner.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

// Calls a function on each of its cores.
template <typename F>
class TestJob : public CoreJob {
 public:
  TestJob(const std::vector<uint32_t>& cores, F run) : run_(run) { Workers::Place(*this, cores); }
  void RunOnCore(uint32_t core) noexcept override { run_(core); }

 private:
  F run_;
};

}  // namespace

TEST_CASE("Flag, HandsOverBetweenThreadsHoweverLongTheWait", "[exec]") {
  Flag there, back;
  constexpr uint32_t kRounds = 2000;
  std::thread other([&] {
    for (uint32_t i = 1; i <= kRounds; ++i) {
      there.WaitEqual(i, true);
      back.Set(i);
    }
  });
  for (uint32_t i = 1; i <= kRounds; ++i) {
    there.Set(i);
    back.WaitEqual(i, i % 2 == 0);
  }
  other.join();
  CHECK(back.value() == kRounds);
}

TEST_CASE("WorkerTeam, EveryIndexRunsOnceInEveryRegion", "[exec]") {
  const uint32_t width = GENERATE(1u, 2u, 3u, 5u);
  CAPTURE(width);
  WorkerTeam team(width, true);
  constexpr int kSteps = 50;
  std::vector<std::thread> helpers;
  for (uint32_t k = 1; k < width; ++k) {
    helpers.emplace_back([&team, k] {
      for (int step = 0; step < kSteps; ++step) team.Help(k);
    });
  }
  int wrong = 0;
  for (int step = 0; step < kSteps; ++step) {
    team.Gather();
    for (uint32_t n : {0u, 1u, 2u, width, 7u, 64u}) {
      std::vector<std::atomic<int>> runs(n);
      auto body = [&](uint32_t i, uint32_t count) {
        runs[i].fetch_add(count == n ? 1 : 100);
        // Nested regions run inline on the core that starts them.
        auto nested = [&](uint32_t, uint32_t) { runs[i].fetch_add(1000); };
        team.ParallelFor(2, nested);
      };
      team.ParallelFor(n, body);
      for (const std::atomic<int>& run : runs) wrong += run.load() == 2001 ? 0 : 1;
    }
    team.Release();
  }
  for (std::thread& helper : helpers) helper.join();
  CHECK(wrong == 0);
}

TEST_CASE("WorkerTeam, OnEveryCoreEachCoreRunsItsOwnShare", "[exec]") {
  const uint32_t width = GENERATE(1u, 2u, 5u, 24u);
  CAPTURE(width);
  WorkerTeam team(width, true);
  constexpr int kRounds = 200;
  std::vector<std::thread::id> own(width);
  std::vector<std::thread> helpers;
  for (uint32_t k = 1; k < width; ++k) {
    helpers.emplace_back([&team, &own, k] {
      own[k] = std::this_thread::get_id();
      team.Help(k);
    });
  }
  own[0] = std::this_thread::get_id();
  team.Gather();
  int others = 0;
  for (int round = 0; round < kRounds; ++round) {
    // Between two regions whose shares the leader may take.
    auto nothing = [](uint32_t, uint32_t) {};
    team.ParallelFor(width, nothing);
    std::vector<std::thread::id> ran(width);
    auto note = [&](uint32_t i, uint32_t) { ran[i] = std::this_thread::get_id(); };
    team.OnEveryCore(note);
    for (uint32_t i = 0; i < width; ++i) others += ran[i] == own[i] ? 0 : 1;
  }
  team.Release();
  for (std::thread& helper : helpers) helper.join();
  CHECK(others == 0);
}

TEST_CASE("Workers, JobsThatShareCoresNeverMeetAndNobodyStarves", "[exec]") {
  Workers workers(MakeTestPlatform(4, false));
  std::vector<std::atomic<int>> busy(4);
  std::atomic<int> met{0}, ran{0};
  const std::vector<std::vector<uint32_t>> sets = {{0}, {3}, {0, 1}, {1, 2}, {2, 3}, {0, 3}, {0, 1, 2, 3}, {1, 3}};
  std::vector<std::thread> threads;
  for (const std::vector<uint32_t>& set : sets) {
    threads.emplace_back([&, set] {
      const auto run = [&](uint32_t core) {
        if (busy[core].fetch_add(1) != 0) met.fetch_add(1);
        ran.fetch_add(1);
        busy[core].fetch_sub(1);
      };
      TestJob job(set, run);
      for (int i = 0; i < 100; ++i) workers.Run(job);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(met.load() == 0);
  CHECK(ran.load() == 1600);
}

TEST_CASE("Workers, ACallerKnowsThatItIsInsideAJob", "[exec]") {
  Workers workers(MakeTestPlatform(2, false));
  CHECK_FALSE(workers.InsideJob());
  std::atomic<int> inside{0};
  const auto run = [&](uint32_t) { inside.fetch_add(workers.InsideJob() ? 1 : 0); };
  TestJob job({0, 1}, run);
  workers.Run(job);
  CHECK(inside.load() == 2);
  CHECK_FALSE(workers.InsideJob());
}

TEST_CASE("UnitRunner, RunsOnTheTeamOfItsUnit", "[exec]") {
  FakeControl control;
  FakeDeviceControl device;
  const auto machine = MakeFakeMachine(MakeTestPlatform(4, true), control, device);
  const Platform& platform = machine->platform();
  for (const char* name : {"cpu[0]", "cpu[3]", "cpu[1-2]", "cpu[0-3]"}) {
    const UnitId unit = FindUnit(platform, name);
    const auto runner = UnitRunner::Make(*machine, unit).value();
    const uint32_t width = platform.unit_class(platform.unit(unit).kind).cores;
    CHECK(runner->compile_context().team->width() == width);
    std::atomic<int> ran{0};
    for (int i = 0; i < 3; ++i) {
      const Status status = runner->Run([&](Stream& stream) -> Status {
        if (stream.team()->width() != width) return MakeError(ErrorCode::kInternal, "test.width", "wrong width");
        auto body = [&](uint32_t, uint32_t) { ran.fetch_add(1); };
        for (int k = 0; k < 10; ++k) stream.team()->ParallelFor(16, body);
        return {};
      });
      CHECK(status.ok());
    }
    CHECK(ran.load() == 480);
    const Status failed = runner->Run([](Stream&) -> Status { return MakeError(ErrorCode::kRunFailed, "test", "x"); });
    CHECK_FALSE(failed.ok());
    CHECK(TimeEmptySteps(*machine, unit, 50).value() > 0);
  }
  CHECK(TimeHandOvers(*machine, FindUnit(platform, "cpu[0]"), FindUnit(platform, "cpu[3]"), 20).value() > 0);
  CHECK_FALSE(TimeHandOvers(*machine, FindUnit(platform, "cpu[0]"), FindUnit(platform, "cpu[0-3]"), 1).ok());
  CHECK_FALSE(UnitRunner::Make(*machine, FindUnit(platform, "fake:0#0")).ok());
}

}  // namespace pt::testing
