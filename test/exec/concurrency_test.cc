// Several runs at once, runs that are ended early, and plans that change between runs.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "test/exec/session_setting.h"

namespace pt::testing::concurrency_test {
namespace {

// What the system says of the thread that made it.
class ThreadWatch {
 public:
  ThreadWatch() : path_("/proc/self/task/" + std::to_string(gettid()) + "/stat") {}
  void WaitUntilItSleeps() const {
    while (State() != 'S') std::this_thread::yield();
  }

 private:
  char State() const {
    std::ifstream file(path_);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const size_t name_end = text.rfind(')');
    return name_end == std::string::npos ? '?' : text.at(name_end + 2);
  }
  std::string path_;
};

// Cancels as soon as the thread that made it sleeps.
class CancelWhenThisThreadSleeps {
 public:
  explicit CancelWhenThisThreadSleeps(CancelToken& cancel)
      : thread_([&cancel, watch = ThreadWatch()] {
          watch.WaitUntilItSleeps();
          cancel.Cancel();
        }) {}
  ~CancelWhenThisThreadSleeps() { thread_.join(); }

 private:
  std::thread thread_;
};

}  // namespace

TEST_CASE("Session, CancelEndsARunAndTheNextOneWorks", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("hold=1");
  const Platform& platform = setting.machine->platform();
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {one, one, two, two}));
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  CancelToken cancel;
  std::thread canceller([&] {
    while (setting.control.holding.load() == 0) std::this_thread::yield();
    cancel.Cancel();
    setting.control.release.store(true);
  });
  const int before = setting.control.enqueued.load();
  const Result<RunReport> cancelled = session->Run(Lend(inputs), Lend(outputs), {.cancel = &cancel});
  canceller.join();
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.error().id == "run.cancelled");
  CHECK(setting.control.enqueued.load() - before < 4);  // the join never ran
  // Cancelled before it begins, twice; then after a reset.
  CHECK_FALSE(session->Run(Lend(inputs), Lend(outputs), {.cancel = &cancel}).ok());
  CHECK_FALSE(session->Run(Lend(inputs), Lend(outputs), {.cancel = &cancel}).ok());
  cancel.Reset();
  CHECK(RunsRight(*session, 5, {.cancel = &cancel}));
}

TEST_CASE("Session, DeadlineEndsARun", "[exec]") {
  Setting setting(2, true);
  setting.graph = Diamond();
  const Platform& platform = setting.machine->platform();
  const UnitId stream = FindUnit(platform, "fake:0#0"), core = FindUnit(platform, "cpu[0]");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {core, stream, core, core}));
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  const Result<RunReport> late = session->Run(Lend(inputs), Lend(outputs), {.deadline = std::chrono::nanoseconds(1)});
  REQUIRE_FALSE(late.ok());
  CHECK(late.error().id == "run.deadline");
  CHECK(RunsRight(*session, 0, {.deadline = std::chrono::nanoseconds::max()}));
  CHECK(RunsRight(*session, 0, {.deadline = std::chrono::hours(1)}));
}

TEST_CASE("Session, DeadlineEndsTheWaitForOtherRunsOfTheSession", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("hold=1");
  SessionOptions options;
  options.max_run_states = 1;
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")), options);
  std::atomic<bool> right{false};
  std::thread holder([&] { right.store(RunsRight(*session, 0)); });
  while (setting.control.holding.load() == 0) std::this_thread::yield();
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  const Result<RunReport> late = session->Run(Lend(inputs), Lend(outputs), {.deadline = std::chrono::milliseconds(1)});
  setting.control.release.store(true);
  holder.join();
  REQUIRE_FALSE(late.ok());
  CHECK(late.error().id == "run.deadline");
  CHECK(right.load());
}

TEST_CASE("Session, CancelEndsTheWaitForOtherRunsOfTheSession", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("hold=1");
  SessionOptions options;
  options.max_run_states = 1;
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")), options);
  std::atomic<bool> right{false};
  std::thread holder([&] { right.store(RunsRight(*session, 0)); });
  while (setting.control.holding.load() == 0) std::this_thread::yield();
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  CancelToken cancel;
  CancelWhenThisThreadSleeps canceller(cancel);
  const Result<RunReport> cancelled = session->Run(Lend(inputs), Lend(outputs), {.cancel = &cancel});
  setting.control.release.store(true);
  holder.join();
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.error().id == "run.cancelled");
  CHECK(right.load());
}

TEST_CASE("Session, DeadlineAndCancelEndTheWaitForCoresThatOthersHold", "[exec]") {
  const auto seed = GENERATE(range(1u, 13u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  Setting setting(4, true);
  const Platform& platform = setting.machine->platform();
  // Holds one core, whichever, until it is released.
  setting.graph = Parse("input x float32[8]\ny = Mix(x) hold=1 : float32[8]\noutput y\n");
  const std::string held = "cpu[" + std::to_string(random() % 4) + "]";
  const std::unique_ptr<Session> holding =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere(held)));
  std::atomic<bool> held_right{false};
  std::thread holder([&] { held_right.store(RunsRight(*holding, 0)); });
  while (setting.control.holding.load() == 0) std::this_thread::yield();

  // Begins on the cores that are free, waits for the one that is not: at a flag, a gathering, or before its first step.
  setting.graph = MakeRandomGraph(random, 30, 31);
  std::vector<UnitId> units = RandomUnits(*setting.graph, platform, random);
  units[random() % units.size()] = FindUnit(platform, held);
  const std::unique_ptr<Session> session = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, units));
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  for (int run = 0; run < 3; ++run) {
    const Result<RunReport> late =
        session->Run(Lend(inputs), Lend(outputs), {.deadline = std::chrono::microseconds(1 + random() % 3000)});
    REQUIRE_FALSE(late.ok());
    CHECK(late.error().id == "run.deadline");
    CancelToken cancel;
    CancelWhenThisThreadSleeps canceller(cancel);
    const Result<RunReport> cancelled = session->Run(Lend(inputs), Lend(outputs), {.cancel = &cancel});
    REQUIRE_FALSE(cancelled.ok());
    CHECK(cancelled.error().id == "run.cancelled");
  }
  CHECK(setting.control.holding.load() == 1);
  setting.control.release.store(true);
  holder.join();
  CHECK(held_right.load());
  for (int run = 0; run < 3; ++run) CHECK(RunsRight(*session, static_cast<float>(run)));
}

TEST_CASE("Session, ARunCancelledDuringItsLastStepHasFailed", "[exec]") {
  Setting setting(1, false);
  setting.graph = Parse("input x float32[8]\ny = Mix(x) hold=1 : float32[8]\noutput y\n");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")));
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  CancelToken cancel;
  std::thread canceller([&] {
    while (setting.control.holding.load() == 0) std::this_thread::yield();
    cancel.Cancel();
    setting.control.release.store(true);
  });
  const Result<RunReport> cancelled = session->Run(Lend(inputs), Lend(outputs), {.cancel = &cancel});
  canceller.join();
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.error().id == "run.cancelled");
}

TEST_CASE("Session, TheNextRunsListsBeginOnCoresThatTheFirstHasLeft", "[exec]") {
  // Both runs take both cores. The second's step on core 1 runs while the first is still on core 0.
  Setting setting(2, false);
  setting.graph = Parse(
      "input x float32[8]\n"
      "a = Mix(x) : float32[8]\nb = Mix(x) hold=1 : float32[8]\noutput a\noutput b\n");
  const Platform& platform = setting.machine->platform();
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {two, one}), {.alone = AloneRuns::kNever});
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&, i] { right.fetch_add(RunsRight(*session, static_cast<float>(i)) ? 1 : 0); });
  }
  // A kernel that holds counts itself as enqueued first.
  while (setting.control.enqueued.load() < 3 || setting.control.holding.load() < 1) std::this_thread::yield();
  CHECK(setting.control.holding.load() == 1);
  setting.control.release.store(true);
  for (std::thread& caller : callers) caller.join();
  CHECK(right.load() == 2);
}

TEST_CASE("Session, DestructorAndManyCallersShareOneRunState", "[exec]") {
  Setting setting(1, false);
  setting.graph = Parse("input x float32[2]\ny = Mix(x) : float32[2]\noutput y\n");
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]"));
  SessionOptions options;
  options.max_run_states = 1;
  std::atomic<int> right{0};
  constexpr int kRounds = 100, kCallers = 4;
  for (int round = 0; round < kRounds; ++round) {
    std::unique_ptr<Session> session = setting.Create(plan, options);
    std::atomic<int> started{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, running = session.get()] {
        // The destructor waits for runs that have begun, so whoever runs once more has not yet ended.
        const bool first = RunsRight(*running, 0);
        started.fetch_add(1);
        right.fetch_add(first ? 1 : 0);
      });
    }
    while (started.load() < kCallers) std::this_thread::yield();
    session.reset();
    for (std::thread& caller : callers) caller.join();
  }
  CHECK(right.load() == kRounds * kCallers);
}

TEST_CASE("Session, ConcurrentRunsEachGetTheirOwnResult", "[exec]") {
  std::mt19937 random(11);
  Setting setting(GENERATE(1u, 2u, 4u), true);
  setting.graph = MakeRandomGraph(random, 30, 41);
  const Platform& platform = setting.machine->platform();
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 3; ++i) {
    sessions.push_back(
        setting.Create(MakeTestPlan(*setting.graph, *setting.machine, RandomUnits(*setting.graph, platform, random))));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < 25; ++run) {
        if (!RunsRight(*sessions[static_cast<size_t>(run + t) % sessions.size()], static_cast<float>(t * 100 + run))) {
          wrong.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("Session, RequestsInFlightGiveTheBitsOfRunsAlone", "[exec]") {
  const auto callers = GENERATE(2, 3);
  std::mt19937 random(21);
  Setting setting(4, true);
  setting.graph = MakeRandomGraph(random, 40, 57);
  const std::unique_ptr<Session> session = setting.Create(
      MakeTestPlan(*setting.graph, *setting.machine, RandomUnits(*setting.graph, setting.machine->platform(), random)));
  struct Request {
    std::vector<Buffer> inputs, outputs, alone;
    int different = 0;
  };
  std::vector<Request> requests;
  for (int i = 0; i < callers; ++i) {
    Request request{MakeBuffers(*setting.graph, setting.graph->inputs(), static_cast<float>(i) * 3),
                    MakeBuffers(*setting.graph, setting.graph->outputs(), -1),
                    MakeBuffers(*setting.graph, setting.graph->outputs(), -1)};
    REQUIRE(session->Run(Lend(request.inputs), Lend(request.alone)).ok());
    requests.push_back(std::move(request));
  }
  std::vector<std::thread> threads;
  for (Request& request : requests) {
    threads.emplace_back([&session, &request] {
      for (int run = 0; run < 30; ++run) {
        for (Buffer& output : request.outputs) output.data.assign(output.data.size(), -7);
        const bool ran = session->Run(Lend(request.inputs), Lend(request.outputs)).ok();
        for (size_t i = 0; i < request.outputs.size(); ++i) {
          const std::vector<float>&a = request.outputs[i].data, &b = request.alone[i].data;
          if (!ran || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0) ++request.different;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Request& request : requests) CHECK(request.different == 0);
}

TEST_CASE("Session, AReplacedPlanEndsTheRunsThatBeganOnIt", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("hold=1");
  const Plan old_plan = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]"));
  const Plan new_plan = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[1]"));
  SessionOptions options;
  options.max_run_states = 1;
  const std::unique_ptr<Session> session = setting.Create(old_plan, options);
  std::atomic<bool> old_right{false}, new_right{false};
  std::thread old_run([&] { old_right.store(RunsRight(*session, 0)); });
  while (setting.control.holding.load() < 1) std::this_thread::yield();
  REQUIRE(session->Replace(new_plan).ok());
  CHECK(session->plan()->steps[0].unit == new_plan.steps[0].unit);
  // Runs on the other core, with a run state of its own, while the old one is still there.
  std::thread new_run([&] { new_right.store(RunsRight(*session, 1)); });
  while (setting.control.holding.load() < 2) std::this_thread::yield();
  setting.control.release.store(true);
  old_run.join();
  new_run.join();
  CHECK(old_right.load());
  CHECK(new_right.load());
  CHECK(RunsRight(*session, 2));
}

TEST_CASE("Session, ARunThatWaitsForARunStateTakesTheNewPlan", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("hold=1");
  SessionOptions options;
  options.max_run_states = 1;
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")), options);
  std::atomic<int> right{0};
  std::vector<std::thread> runs;
  for (int i = 0; i < 2; ++i) {
    runs.emplace_back([&, i] { right.fetch_add(RunsRight(*session, static_cast<float>(i)) ? 1 : 0); });
  }
  while (setting.control.holding.load() < 1) std::this_thread::yield();
  REQUIRE(session->Replace(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[1]"))).ok());
  while (setting.control.holding.load() < 2) std::this_thread::yield();
  setting.control.release.store(true);
  for (std::thread& run : runs) run.join();
  CHECK(right.load() == 2);
}

TEST_CASE("Session, APlanThatCannotReplaceLeavesEverythingAsItWas", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]"));
  const std::unique_ptr<Session> session = setting.Create(plan);
  REQUIRE(RunsRight(*session, 0));
  const std::shared_ptr<const Plan> before = session->plan();
  Plan illegal = plan;
  illegal.steps[0].after = {StepId(3u)};
  Plan stale = plan;
  stale.made_for.graph_hash = "0";
  Plan missing = plan;
  missing.candidates[2].library = "missing";
  CHECK(session->Replace(illegal).error().code == ErrorCode::kInvalidInput);
  CHECK(session->Replace(stale).error().code == ErrorCode::kStale);
  CHECK(session->Replace(missing).error().code == ErrorCode::kDeviceUnusable);
  setting.control.fail_bind.store(1);
  CHECK(session->Replace(plan).error().id == "fake.bind");
  setting.control.fail_bind.store(-1);
  CHECK(session->plan() == before);
  CHECK(session->StepCounters()[0].runs == 1);
  CHECK(RunsRight(*session, 1));
}

TEST_CASE("Session, PlansAreReplacedWhileManyRun", "[exec]") {
  std::mt19937 random(31);
  Setting setting(2, false);
  setting.graph = MakeRandomGraph(random, 20, 33);
  std::vector<Plan> plans;
  for (int i = 0; i < 3; ++i) {
    plans.push_back(MakeTestPlan(*setting.graph, *setting.machine,
                                 RandomUnits(*setting.graph, setting.machine->platform(), random)));
  }
  const std::unique_ptr<Session> session = setting.Create(plans[0]);
  std::atomic<int> wrong{0}, running{4};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < 25; ++run) wrong.fetch_add(RunsRight(*session, static_cast<float>(t + run)) ? 0 : 1);
      running.fetch_sub(1);
    });
  }
  for (size_t i = 1; running.load() > 0; ++i) {
    if (!session->Replace(plans[i % plans.size()]).ok()) wrong.fetch_add(1);
    if (session->StepCounters().size() != session->plan()->steps.size()) wrong.fetch_add(1);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("Session, CountersHoldTheTimesOfEveryHostStep", "[exec]") {
  std::mt19937 random(7);
  Setting setting(4, true);
  setting.graph = MakeRandomGraph(random, 40, 57);
  const Plan plan =
      MakeTestPlan(*setting.graph, *setting.machine, RandomUnits(*setting.graph, setting.machine->platform(), random));
  const std::unique_ptr<Session> session = setting.Create(plan);
  for (const StepCounter& counter : session->StepCounters()) CHECK(counter.runs == 0);
  constexpr uint64_t kRuns = 5;
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  for (uint64_t i = 0; i < kRuns; ++i) {
    callers.emplace_back([&] { right.fetch_add(RunsRight(*session, 0) ? 1 : 0); });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(right.load() == static_cast<int>(kRuns));
  const std::vector<StepCounter> counters = session->StepCounters();
  REQUIRE(counters.size() == plan.steps.size());
  int wrong = 0;
  for (size_t i = 0; i < counters.size(); ++i) {
    const UnitClass& unit_class =
        setting.machine->platform().unit_class(setting.machine->platform().unit(plan.steps[i].unit).unit_class);
    const StepCounter& counter = counters[i];
    const uint64_t expected = unit_class.on_host() ? kRuns : 0;
    const bool bounded = counter.min_ns >= 0 && counter.min_ns <= counter.last_ns &&
                         counter.sum_ns >= static_cast<int64_t>(counter.runs) * counter.min_ns &&
                         counter.sum_ns >= counter.last_ns;
    wrong += counter.runs == expected && bounded ? 0 : 1;
  }
  CHECK(wrong == 0);
}

// The first run waits within its kernel for five hundred runs on the other core, none of the others does.
TEST_CASE("Session, TheLeastTimeOfAStepIsThatOfItsFastestRun", "[exec]") {
  Setting setting(2, false);
  setting.graph = Parse("input x float32[8]\ny = Mix(x) hold=1 : float32[8]\noutput y\n");
  const auto session = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")));
  setting.graph = Diamond();
  const auto other = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[1]")));
  std::thread releaser([&] {
    while (setting.control.holding.load() == 0) std::this_thread::yield();
    for (int run = 0; run < 500; ++run) RunsRight(*other, 0);
    setting.control.release.store(true);
  });
  CHECK(RunsRight(*session, 0));
  releaser.join();
  const StepCounter first = session->StepCounters()[0];
  CHECK(first.min_ns == first.last_ns);
  int64_t least_ns = first.last_ns;
  for (int run = 0; run < 20; ++run) {
    CHECK(RunsRight(*session, 1));
    least_ns = std::min(least_ns, session->StepCounters()[0].last_ns);
  }
  CHECK(session->StepCounters()[0].min_ns == least_ns);
  CHECK(least_ns < first.min_ns);
}

TEST_CASE("Session, SessionsComeAndGoWhileOthersRun", "[exec]") {
  std::mt19937 random(5);
  Setting setting(2, false);
  setting.graph = MakeRandomGraph(random, 20, 33);
  std::vector<Plan> plans;
  for (int i = 0; i < 4; ++i) {
    plans.push_back(MakeTestPlan(*setting.graph, *setting.machine,
                                 RandomUnits(*setting.graph, setting.machine->platform(), random)));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        auto session = Session::Create(setting.graph, plans[t], *setting.machine);
        if (!session.ok() || !RunsRight(**session, static_cast<float>(i))) wrong.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("Session, DestructorWaitsForRunsInFlight", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("hold=1");
  std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")));
  std::atomic<bool> right{false};
  std::thread runner([&, running = session.get()] { right.store(RunsRight(*running, 0)); });
  while (setting.control.holding.load() == 0) std::this_thread::yield();
  std::thread releaser([&] { setting.control.release.store(true); });
  session.reset();
  CHECK(setting.control.holding.load() == 0);
  runner.join();
  releaser.join();
  CHECK(right.load());
}

// One run holds the only run state, another waits for it, and the session is to go: it waits for both.
TEST_CASE("Session, DestructorWaitsForRunsThatWaitForARunState", "[exec]") {
  SessionOptions options;
  options.max_run_states = 1;
  for (int round = 0; round < 50; ++round) {
    Setting setting(1, false);
    setting.graph = Parse("input x float32[2]\ny = Mix(x) hold=1 : float32[2]\noutput y\n");
    std::unique_ptr<Session> session =
        setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")), options);
    std::atomic<int> right{0};
    std::optional<ThreadWatch> second_watch, destroyer_watch;
    std::atomic<int> watches{0};
    const auto run = [&, running = session.get()] { right.fetch_add(RunsRight(*running, 0) ? 1 : 0); };
    std::thread first(run);
    while (setting.control.holding.load() == 0) std::this_thread::yield();
    std::thread second([&] {
      second_watch.emplace();
      watches.fetch_add(1);
      run();
    });
    while (watches.load() < 1) std::this_thread::yield();
    second_watch->WaitUntilItSleeps();
    std::thread destroyer([&] {
      destroyer_watch.emplace();
      watches.fetch_add(1);
      session.reset();
    });
    while (watches.load() < 2) std::this_thread::yield();
    destroyer_watch->WaitUntilItSleeps();
    CHECK(right.load() == 0);
    setting.control.release.store(true);
    for (std::thread* thread : {&first, &second, &destroyer}) thread->join();
    CHECK(right.load() == 2);
  }
}

}  // namespace pt::testing::concurrency_test
