// Runs that their caller does alone, whatever cores the plan has.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <thread>

#include "test/exec/session_setting.h"

namespace pt::testing::alone_runs_test {
namespace {

const SessionOptions kAlone = {.alone = AloneRuns::kAlways};

// A run with buffers of its own.
struct Ran {
  Result<RunReport> report;
  bool right = false;
};
Ran RunOnce(Session& session, float start, const RunOptions& options = {}) {
  const Graph& graph = session.graph();
  std::vector<Buffer> inputs = MakeBuffers(graph, graph.inputs(), start);
  std::vector<Buffer> outputs = MakeBuffers(graph, graph.outputs(), -1000);
  const auto expected = Interpret(graph, inputs);
  Ran ran{session.Run(Lend(inputs), Lend(outputs), options)};
  ran.right = ran.report.ok();
  for (size_t i = 0; i < outputs.size(); ++i) ran.right &= outputs[i].data == expected[i];
  return ran;
}

}  // namespace

TEST_CASE("AloneRuns, RandomPlansGiveTheResultOfOneLoop", "[exec]") {
  const uint32_t cores = GENERATE(2u, 4u, 12u);
  const auto seed = GENERATE(range(1u, 7u));
  CAPTURE(cores, seed);
  std::mt19937 random(seed);
  Setting setting(cores, false);
  setting.graph = MakeRandomGraph(random, 60, 97);
  std::vector<UnitId> units = RandomUnits(*setting.graph, setting.machine->platform(), random);
  units[0] = FindUnit(setting.machine->platform(), "cpu[0-" + std::to_string(cores - 1) + "]");
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, units);
  const std::unique_ptr<Session> alone = setting.Create(plan, kAlone);
  const std::unique_ptr<Session> together = setting.Create(plan, {.alone = AloneRuns::kNever});
  for (int run = 0; run < 4; ++run) {
    const Ran one = RunOnce(*alone, static_cast<float>(run)), all = RunOnce(*together, static_cast<float>(run));
    CHECK(one.right);
    CHECK(all.right);
    CHECK((one.report.ok() && one.report->alone));
    CHECK((all.report.ok() && !all.report->alone));
    CHECK((one.report.ok() && one.report->makespan_ns > 0 && one.report->makespan_ns <= one.report->wall_ns));
  }
  CHECK(setting.control.wrong_team.load() == 0);
  for (const StepCounter& counter : alone->StepCounters()) CHECK(counter.runs == 4);
}

TEST_CASE("AloneRuns, NeedNoCoreButTheFirst", "[exec]") {
  Setting setting(2, false);
  const Platform& platform = setting.machine->platform();
  setting.graph = Parse("input x float32[8]\ny = Mix(x) hold=1 : float32[8]\noutput y\n");
  const std::unique_ptr<Session> holding =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[1]")));
  std::atomic<bool> held_right{false};
  std::thread holder([&] { held_right.store(RunsRight(*holding, 0)); });
  while (setting.control.holding.load() == 0) std::this_thread::yield();
  setting.graph = Diamond();
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]"),
               both = FindUnit(platform, "cpu[0-1]");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {both, one, two, both}), kAlone);
  CHECK(RunOnce(*session, 3).right);
  setting.control.release.store(true);
  holder.join();
  CHECK(held_right.load());
}

TEST_CASE("AloneRuns, SeveralAtOnceHaveACoreEach", "[exec]") {
  Setting setting(2, false);
  const Platform& platform = setting.machine->platform();
  setting.graph = Parse(
      "input x float32[8]\na = Mix(x) hold=1 : float32[8]\nb = Mix(x) : float32[8]\ny = Mix(a, b) : float32[8]\n"
      "output y\n");
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {one, two, one}), kAlone);
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back([&, i] { right += RunsRight(*session, static_cast<float>(i)); });
  // Both are in the middle of their runs at the same time; the third waits for a core.
  while (setting.control.holding.load() < 2) std::this_thread::yield();
  setting.control.release.store(true);
  for (std::thread& caller : callers) caller.join();
  CHECK(right.load() == 3);
}

TEST_CASE("AloneRuns, APlanForOneCoreRunsOnAnyCoreOfTheMachine", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("hold=1");
  const std::string core = GENERATE("cpu[0]", "cpu[1]");
  CAPTURE(core);
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere(core));
  const std::unique_ptr<Session> session = setting.Create(plan, {.alone = AloneRuns::kAnyCore});
  CHECK(session->parallel_runs() == 2);
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&, i] {
      const Ran ran = RunOnce(*session, static_cast<float>(i));
      right += ran.right && ran.report->alone ? 1 : 0;
    });
  }
  // Two at once, though the plan has one core.
  while (setting.control.holding.load() < 2) std::this_thread::yield();
  setting.control.release.store(true);
  for (std::thread& caller : callers) caller.join();
  CHECK(right.load() == 3);
  Trace trace;
  const Ran traced = RunOnce(*session, 9, {.trace = &trace});
  CHECK(traced.right);
  CHECK_FALSE(traced.report->alone);
  const std::unique_ptr<Session> always = setting.Create(plan, kAlone);
  CHECK_FALSE(RunOnce(*always, 4).report->alone);  // one way only
}

// As kAlways does, beside a plan for fewer cores than the machine has.
TEST_CASE("AloneRuns, AnyCoreTakesPlansForSeveralAndReplacesThem", "[exec]") {
  Setting setting(4, false);
  setting.graph = Diamond();
  const Plan pair = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0-1]"));
  const Plan single = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[2]"));
  const std::unique_ptr<Session> session = setting.Create(pair, {.alone = AloneRuns::kAnyCore});
  for (const Plan& plan : {single, pair, single}) {
    CHECK(RunOnce(*session, 1).right);
    REQUIRE(session->Replace(plan).ok());
    const Ran ran = RunOnce(*session, 2);
    CHECK(ran.right);
    CHECK(ran.report->alone);
    CHECK(session->parallel_runs() == 4);
  }
}

TEST_CASE("AloneRuns, EndByTheirLimitsAndTheNextOneWorks", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("hold=1");
  const Platform& platform = setting.machine->platform();
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {one, one, two, two}), kAlone);
  CancelToken cancel;
  std::atomic<bool> waiting_ended{false};
  std::atomic<bool> other_right{false};
  std::thread other([&] { other_right.store(RunOnce(*session, 2).right); });
  std::thread canceller([&] {
    while (setting.control.holding.load() < 2) std::this_thread::yield();
    // One more waits for a core, which the first two hold.
    const Ran late = RunOnce(*session, 1, {.deadline = std::chrono::milliseconds(1)});
    waiting_ended.store(!late.report.ok() && late.report.error().id == "run.deadline");
    cancel.Cancel();
    setting.control.release.store(true);
  });
  const Ran cancelled = RunOnce(*session, 0, {.cancel = &cancel});
  canceller.join();
  other.join();
  CHECK(waiting_ended.load());
  CHECK(other_right.load());
  REQUIRE_FALSE(cancelled.report.ok());
  CHECK(cancelled.report.error().id == "run.cancelled");
  cancel.Reset();
  CHECK(RunOnce(*session, 5, {.cancel = &cancel}).right);
}

TEST_CASE("AloneRuns, AnErrorInAStepIsReportedAndTheSessionStaysUsable", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("fail=1");
  const UnitId one = FindUnit(setting.machine->platform(), "cpu[0]"),
               both = FindUnit(setting.machine->platform(), "cpu[0-1]");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {one, both, one, both}), kAlone);
  for (int run = 0; run < 2; ++run) {
    const Ran ran = RunOnce(*session, 0);
    REQUIRE_FALSE(ran.report.ok());
    CHECK(ran.report.error().id == "fake.fail");
  }
  CHECK(setting.control.enqueued.load() == 4);  // what lies behind the error is not begun
}

TEST_CASE("AloneRuns, PlansWithOneWayOnlyKeepToIt", "[exec]") {
  Setting setting(2, true);
  setting.graph = Diamond();
  const Platform& platform = setting.machine->platform();
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]"),
               stream = FindUnit(platform, "fake:0#0");
  const Plan with_device = MakeTestPlan(*setting.graph, *setting.machine, {one, stream, two, one});
  const Plan on_two = MakeTestPlan(*setting.graph, *setting.machine, {one, one, two, one});
  const Plan on_one = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[1]"));
  SessionOptions twin = kAlone;
  twin.sequential = true;
  for (const std::unique_ptr<Session>& session :
       {setting.Create(with_device, kAlone), setting.Create(on_one, kAlone), setting.Create(on_two, twin)}) {
    const Ran ran = RunOnce(*session, 2);
    CHECK(ran.right);
    CHECK((ran.report.ok() && !ran.report->alone));
  }
  // A trace shows the plan.
  Trace trace;
  const std::unique_ptr<Session> session = setting.Create(on_two, kAlone);
  const Ran traced = RunOnce(*session, 2, {.trace = &trace});
  CHECK(traced.right);
  CHECK((traced.report.ok() && !traced.report->alone));
  CHECK(trace.events.size() == 4);
  CHECK((session->Replace(with_device).ok() && RunOnce(*session, 1).right));
  CHECK((session->Replace(on_two).ok() && RunOnce(*session, 1).report->alone));
}

// Where the account says that threads wait all the time, the other way is tried after some windows of runs; which way
// wins is the machine's affair.
TEST_CASE("AloneRuns, BothWaysAreTriedWhereThreadsWaitForTheirCores", "[exec]") {
  const auto seed = GENERATE(range(1u, 4u));
  std::mt19937 random(seed);
  Setting setting(2, false);
  setting.graph = MakeRandomGraph(random, 40, 4097);
  std::vector<UnitId> units = RandomUnits(*setting.graph, setting.machine->platform(), random);
  units[0] = FindUnit(setting.machine->platform(), "cpu[0-1]");
  int64_t waited_ns = 0;
  const SessionOptions options = {.waited_ns = [&] { return waited_ns += 1'000'000'000; }};
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, units), options);
  int alone = 0, together = 0, wrong = 0;
  for (int run = 0; run < 1'000'000 && (alone == 0 || together == 0); ++run) {
    const Ran ran = RunOnce(*session, static_cast<float>(run % 5));
    wrong += ran.right ? 0 : 1;
    if (ran.report.ok()) ++(ran.report->alone ? alone : together);
  }
  CHECK(wrong == 0);
  CHECK(alone > 0);
  CHECK(together > 0);
}

TEST_CASE("AloneRuns, WhereNoThreadWaitsEveryRunTakesThePlansCores", "[exec]") {
  std::mt19937 random(5);
  Setting setting(2, false);
  setting.graph = MakeRandomGraph(random, 40, 4097);
  std::vector<UnitId> units = RandomUnits(*setting.graph, setting.machine->platform(), random);
  units[0] = FindUnit(setting.machine->platform(), "cpu[0-1]");
  int asked = 0;
  const SessionOptions options = {.waited_ns = [&]() -> int64_t { return ++asked, 0; }};
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, units), options);
  int alone = 0, wrong = 0;
  for (int run = 0; run < 1'000'000 && asked < 8; ++run) {
    const Ran ran = RunOnce(*session, static_cast<float>(run % 5));
    wrong += ran.right ? 0 : 1;
    alone += ran.report.ok() && ran.report->alone ? 1 : 0;
  }
  CHECK(asked == 8);
  CHECK(wrong == 0);
  CHECK(alone == 0);
}

}  // namespace pt::testing::alone_runs_test
