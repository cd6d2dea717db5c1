// The executor's own building blocks: flags, teams, queues of cores.
#include "lib/exec/workers.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <random>
#include <system_error>
#include <thread>

#include "lib/exec/team.h"
#include "partitiontuner/exec/unit_runner.h"
#include "test/testing/test_machine.h"

namespace pt::testing::workers_test {
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
  const uint32_t width = GENERATE(1u, 2u, 3u, 5u, 9u, 10u, 24u);
  CAPTURE(width);
  WorkerTeam team(width, true);
  constexpr int kSteps = 20;
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

TEST_CASE("WorkerTeam, NeighbouringIndicesRunOnOneCore", "[exec]") {
  WorkerTeam team(3, true);
  std::vector<std::thread> helpers;
  for (uint32_t k = 1; k < 3; ++k) helpers.emplace_back([&team, k] { team.Help(k); });
  team.Gather();
  int apart = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::thread::id> ran(10);
    auto note = [&](uint32_t i, uint32_t) { ran[i] = std::this_thread::get_id(); };
    team.ParallelFor(10, note);
    // Shares of 4, 3 and 3, each of which another core may have taken over as a whole.
    for (const auto& [first, last] : {std::pair(0, 3), std::pair(4, 6), std::pair(7, 9)}) {
      for (int i = first; i < last; ++i) apart += ran[static_cast<size_t>(i)] == ran[static_cast<size_t>(last)] ? 0 : 1;
    }
  }
  team.Release();
  for (std::thread& helper : helpers) helper.join();
  CHECK(apart == 0);
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

TEST_CASE("WorkerTeam, ParkedHelpersStillTakePart", "[exec]") {
  const uint32_t width = GENERATE(2u, 5u, 24u);
  CAPTURE(width);
  WorkerTeam team(width, false);
  std::vector<std::thread> helpers;
  for (uint32_t k = 1; k < width; ++k) {
    helpers.emplace_back([&team, k] {
      for (int step = 0; step < 2; ++step) team.Help(k);
    });
  }
  auto nothing = [](uint32_t, uint32_t) {};
  const auto all_sleep = [&] {
    while (team.sleeping_helpers() + 1 < width) std::this_thread::yield();
  };
  team.Gather();
  team.Park();
  all_sleep();
  team.OnEveryCore(nothing);
  all_sleep();
  const uint64_t parked = team.turns_spun();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::atomic<int>> runs(64);
    auto body = [&](uint32_t i, uint32_t) { runs[i].fetch_add(1); };
    team.ParallelFor(64, body);
    CHECK(std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run.load() == 1; }));
    team.OnEveryCore(nothing);
    all_sleep();
  }
  CHECK(team.turns_spun() == parked);
  team.Release();
  // The next step's helpers spin again.
  team.Gather();
  all_sleep();
  team.OnEveryCore(nothing);
  CHECK(team.turns_spun() > parked);
  team.Release();
  for (std::thread& helper : helpers) helper.join();
}

TEST_CASE("Workers, JobsThatShareCoresNeverMeetAndNobodyStarves", "[exec]") {
  const std::unique_ptr<Workers> made = Workers::Make(MakeTestPlatform(4, false)).value();
  Workers& workers = *made;
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
  const std::unique_ptr<Workers> made = Workers::Make(MakeTestPlatform(2, false)).value();
  Workers& workers = *made;
  CHECK_FALSE(workers.InsideJob());
  std::atomic<int> inside{0};
  const auto run = [&](uint32_t) { inside.fetch_add(workers.InsideJob() ? 1 : 0); };
  TestJob job({0, 1}, run);
  workers.Run(job);
  CHECK(inside.load() == 2);
  CHECK_FALSE(workers.InsideJob());
}

TEST_CASE("Workers, TheNextJobBeginsOnACoreThatTheFirstHasLeft", "[exec]") {
  const std::unique_ptr<Workers> workers = Workers::Make(MakeTestPlatform(3, false)).value();
  Flag second_over;
  // Ends on cores 1 and 2 at once, and on core 0 only when the second job, queued behind it, is over.
  const auto first = [&](uint32_t core) {
    if (core == 0) second_over.WaitEqual(1, true);
  };
  TestJob first_job({0, 1, 2}, first);
  std::thread caller([&] { workers->Run(first_job); });
  std::atomic<int> ran{0};
  const auto second = [&](uint32_t) { ran.fetch_add(1); };
  TestJob second_job({1, 2}, second);
  workers->Run(second_job);
  second_over.Set(1);
  caller.join();
  CHECK(ran.load() == 2);
}

TEST_CASE("Workers, ManyJobsOverOverlappingCoresWithWaitsAmongTheirCoresAllEnd", "[exec]") {
  const auto seed = GENERATE(range(1u, 9u));
  CAPTURE(seed);
  constexpr uint32_t kCores = 6, kSteps = 40, kThreads = 7, kRuns = 30;
  const std::unique_ptr<Workers> workers = Workers::Make(MakeTestPlatform(kCores, false)).value();
  // A job is a list of steps in one order, each of one core or wide; a step waits for an earlier one.
  class StepJob : public CoreJob {
   public:
    StepJob(uint32_t seed, std::vector<std::atomic<int>>& busy) : busy_(busy), flags_(kSteps), ends_(kSteps) {
      std::mt19937 engine(seed);
      const auto random = [&engine] { return static_cast<uint32_t>(engine()); };
      for (uint32_t core = 0; core < kCores; ++core) {
        if (random() % 2 == 0) cores_.push_back(core);
      }
      if (cores_.empty()) cores_.push_back(random() % kCores);
      for (uint32_t i = 0; i < kSteps; ++i) {
        first_.push_back(random() % static_cast<uint32_t>(cores_.size()));
        last_.push_back(random() % 3 == 0 ? static_cast<uint32_t>(cores_.size()) - 1 : first_.back());
        waits_for_.push_back(i == 0 ? kSteps : random() % i);
      }
      Workers::Place(*this, cores_);
    }
    void RunOnCore(uint32_t core) noexcept override {
      if (busy_[core].fetch_add(1) != 0) wrong.fetch_add(1);
      const auto index = static_cast<uint32_t>(std::find(cores_.begin(), cores_.end(), core) - cores_.begin());
      for (uint32_t i = 0; i < kSteps; ++i) {
        if (index < first_[i] || index > last_[i]) continue;
        if (index > first_[i]) {  // as a helper: there, until the leader is done
          flags_[i].Add();
          ends_[i].WaitEqual(run, true);
          continue;
        }
        if (waits_for_[i] < kSteps) ends_[waits_for_[i]].WaitEqual(run, true);
        flags_[i].WaitEqual(run * (last_[i] - first_[i]), true);
        sum += i;
        ends_[i].Set(run);
      }
      busy_[core].fetch_sub(1);
    }
    uint32_t run = 0;
    std::atomic<uint64_t> sum{0};
    std::atomic<int> wrong{0};

   private:
    std::vector<std::atomic<int>>& busy_;
    std::vector<uint32_t> cores_, first_, last_, waits_for_;
    std::vector<Flag> flags_, ends_;
  };
  std::vector<std::atomic<int>> busy(kCores);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      StepJob job(seed * 100 + t, busy);
      for (job.run = 1; job.run <= kRuns; ++job.run) workers->Run(job);
      wrong.fetch_add(job.wrong.load() + (job.sum.load() == kRuns * kSteps * (kSteps - 1) / 2 ? 0 : 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("Workers, AJobWhoseLimitsAreOverLeavesItsQueuesAndTheOthersKeepTheirOrder", "[exec]") {
  const std::unique_ptr<Workers> workers = Workers::Make(MakeTestPlatform(3, false)).value();
  class AbandonedJob : public CoreJob {
   public:
    explicit AbandonedJob(const std::vector<uint32_t>& cores) { Workers::Place(*this, cores); }
    void RunOnCore(uint32_t) noexcept override { ran.fetch_add(1); }
    void Abandon(std::span<const uint32_t> cores) noexcept override { abandoned += cores.size(); }
    std::atomic<size_t> ran{0};
    size_t abandoned = 0;
  };
  Flag release;
  std::atomic<int> begun{0};
  const auto hold = [&](uint32_t) {
    begun.fetch_add(1);
    release.WaitEqual(1, true);
  };
  TestJob holder({0, 2}, hold);
  std::thread holding([&] { workers->Run(holder); });
  while (begun.load() < 2) std::this_thread::yield();
  const auto own = GENERATE(std::vector<uint32_t>{0}, std::vector<uint32_t>{0, 1}, std::vector<uint32_t>{0, 1, 2},
                            std::vector<uint32_t>{1, 2});
  AbandonedJob job(own);
  CancelToken cancel;
  cancel.Cancel();
  workers->Run(job, Stay::kOnCore, RunLimits({}, &cancel, 0));
  CHECK(job.ran.load() + job.abandoned == own.size());
  CHECK(job.abandoned == static_cast<size_t>(std::count_if(own.begin(), own.end(), [](uint32_t c) { return c != 1; })));
  // The job may run again: it is in no queue any more.
  std::thread again([&] { workers->Run(job); });
  release.Set(1);
  again.join();
  holding.join();
  CHECK(job.ran.load() + job.abandoned == 2 * own.size());
}

TEST_CASE("Workers, LimitsThatEndAtAnyMomentLoseNoCore", "[exec]") {
  const auto seed = GENERATE(range(1u, 5u));
  CAPTURE(seed);
  constexpr uint32_t kCores = 4;
  const std::unique_ptr<Workers> workers = Workers::Make(MakeTestPlatform(kCores, false)).value();
  class CountedJob : public CoreJob {
   public:
    explicit CountedJob(const std::vector<uint32_t>& cores) { Workers::Place(*this, cores); }
    void RunOnCore(uint32_t) noexcept override { seen.fetch_add(1); }
    void Abandon(std::span<const uint32_t> cores) noexcept override { seen.fetch_add(cores.size()); }
    std::atomic<size_t> seen{0};
  };
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed * 10 + t);
      for (int i = 0; i < 300; ++i) {
        std::vector<uint32_t> cores;
        for (uint32_t core = 0; core < kCores; ++core) {
          if (random() % 2 == 0) cores.push_back(core);
        }
        if (cores.empty()) cores = {0};
        CountedJob job(cores);
        const std::chrono::nanoseconds deadline(random() % 200'000);
        workers->Run(job, Stay::kOnCore, RunLimits(deadline, nullptr, NowNs()));
        if (job.seen.load() != cores.size()) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("Workers, SignalsOfFaultsStayOpenAndTheOthersAreForTheApplication", "[exec]") {
  const std::unique_ptr<Workers> workers = Workers::Make(MakeTestPlatform(2, false)).value();
  sigset_t blocked;
  sigemptyset(&blocked);
  const auto look = [&](uint32_t core) {
    if (core == 1) pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  };
  TestJob job({0, 1}, look);
  workers->Run(job);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
    CAPTURE(fault);
    CHECK(sigismember(&blocked, fault) == 0);
  }
  for (const int request : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM}) {
    CAPTURE(request);
    CHECK(sigismember(&blocked, request) == 1);
  }
}

TEST_CASE("Workers, AThreadThatCannotBeMadeIsAnErrorAndTheOthersEnd", "[exec]") {
  const int makes = GENERATE(0, 1, 3);
  CAPTURE(makes);
  int made = 0;
  std::atomic<int> ended{0};
  const auto workers = Workers::Make(MakeTestPlatform(4, false), [&](std::function<void()> body) {
    if (made == makes) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    ++made;
    return std::thread([body = std::move(body), &ended] {
      body();
      ended.fetch_add(1);
    });
  });
  REQUIRE_FALSE(workers.ok());
  CHECK(workers.error().code == ErrorCode::kDeviceUnusable);
  CHECK(workers.error().id == "machine.thread");
  CHECK(workers.error().message.find("core " + std::to_string(makes)) != std::string::npos);
  CHECK(ended.load() == makes);
}

TEST_CASE("UnitRunner, RunsOnTheTeamOfItsUnit", "[exec]") {
  FakeControl control;
  FakeDeviceControl device;
  const auto machine = MakeFakeMachine(MakeTestPlatform(4, true), control, device);
  const Platform& platform = machine->platform();
  for (const char* name : {"cpu[0]", "cpu[3]", "cpu[1-2]", "cpu[0-3]"}) {
    const UnitId unit = FindUnit(platform, name);
    const auto runner = UnitRunner::Make(*machine, unit).value();
    const uint32_t width = platform.unit_class(platform.unit(unit).unit_class).cores;
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

}  // namespace pt::testing::workers_test
