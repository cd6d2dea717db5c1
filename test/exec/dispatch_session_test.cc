// Sessions that decide while they run: on cores, and with the product's simulated device on its real clock.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <thread>

#include "lib/exec/lost_devices.h"
#include "test/exec/dispatch_setting.h"
#include "test/exec/session_setting.h"

namespace pt::testing::dispatch_session_test {
namespace {

constexpr DispatchRule kRules[] = {DispatchRule::kOperator, DispatchRule::kPath};

std::unique_ptr<Session> CreateDispatch(const Setting& setting, DispatchRule rule, const SessionOptions& options = {}) {
  auto session = Session::CreateDispatch(setting.graph, MakeTestDispatch(*setting.graph, *setting.machine, rule),
                                         *setting.machine, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  return std::move(session).value();
}

// The error that creating gives, empty when none.
std::string Refusal(const Setting& setting, const DispatchPlan& dispatch, const SessionOptions& options = {}) {
  const auto session = Session::CreateDispatch(setting.graph, dispatch, *setting.machine, options);
  return session.ok() ? "" : session.error().id;
}

Result<RunReport> RunOnce(Session& session, const RunOptions& options = {}) {
  std::vector<Buffer> inputs = MakeBuffers(session.graph(), session.graph().inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(session.graph(), session.graph().outputs(), 0);
  return session.Run(Lend(inputs), Lend(outputs), options);
}

}  // namespace

TEST_CASE("DispatchSession, RandomGraphsOnCoresEqualTheReference", "[exec]") {
  const uint32_t cores = GENERATE(1U, 2U, 4U);
  const uint32_t seed = GENERATE(range(1U, 5U));
  CAPTURE(cores, seed);
  std::mt19937 random(seed);
  Setting setting(cores, false);
  setting.graph = MakeRandomGraph(random, 40, 64);
  for (const DispatchRule rule : kRules) {
    const std::unique_ptr<Session> session = CreateDispatch(setting, rule);
    constexpr int kRuns = 20;
    const int before = setting.control.enqueued.load();
    for (int run = 0; run < kRuns; ++run) REQUIRE(RunsRight(*session, static_cast<float>(run)));
    // Every group once a run, wherever.
    const auto nodes = static_cast<int>(setting.graph->nodes().size());
    CHECK(setting.control.enqueued.load() - before == kRuns * nodes);
    uint64_t counted = 0;
    for (const StepCounter& counter : session->StepCounters()) counted += counter.runs;
    CHECK(counted == static_cast<uint64_t>(kRuns) * static_cast<uint64_t>(nodes));
  }
}

TEST_CASE("DispatchSession, RandomGraphsWithADeviceEqualTheReference", "[exec]") {
  const uint32_t seed = GENERATE(range(1U, 7U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  Setting setting(2, true);
  setting.graph = MakeRandomGraph(random, 30, 64);
  for (const DispatchRule rule : kRules) {
    const std::unique_ptr<Session> session = CreateDispatch(setting, rule);
    for (int run = 0; run < 5; ++run) REQUIRE(RunsRight(*session, static_cast<float>(run)));
  }
}

TEST_CASE("DispatchSession, ASimulatedDeviceOnTheRealClockTakesPart", "[exec]") {
  const uint32_t seed = GENERATE(range(1U, 4U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  Setting setting;
  Platform platform = MakeTestPlatform(2, true);
  AddSecondDevice(platform, seed % 2 == 0);
  SimulatedCalls calls;
  setting.machine = MakeSimulatedMachine(std::move(platform), setting.control, {SimulatedClock::kReal, &calls});
  setting.graph = MakeRandomGraph(random, 30, 64);
  const std::unique_ptr<Session> session = CreateDispatch(setting, DispatchRule::kOperator);
  for (int run = 0; run < 5; ++run) REQUIRE(RunsRight(*session, static_cast<float>(run)));
  CHECK(setting.control.begun.load() > 0);  // on the device
}

TEST_CASE("DispatchSession, InputsAndOutputsMayLieOnADevice", "[exec]") {
  Setting setting(2, true);
  setting.graph = Diamond();
  LentOn lent_on;
  lent_on[setting.graph->inputs()[0]] = DeviceId(1u);
  lent_on[setting.graph->outputs()[0]] = DeviceId(1u);
  const DispatchPlan dispatch = MakeTestDispatch(*setting.graph, *setting.machine, DispatchRule::kOperator, 1, lent_on);
  auto session = Session::CreateDispatch(setting.graph, dispatch, *setting.machine);
  if (!session.ok()) FAIL(ToString(session.error()));
  // The fake device's memory is the process's.
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 3);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), -1000);
  std::vector<LentTensor> in = Lend(inputs), out = Lend(outputs);
  in[0].device = out[0].device = DeviceId(1u);
  for (int run = 0; run < 10; ++run) {
    const Result<RunReport> report = (*session)->Run(in, out);
    if (!report.ok()) FAIL(ToString(report.error()));
    CHECK(outputs[0].data == Interpret(*setting.graph, inputs)[0]);
  }
}

TEST_CASE("DispatchSession, SeveralCallersAtOnce", "[exec]") {
  std::mt19937 random(7);
  Setting setting(2, GENERATE(false, true));
  setting.graph = MakeRandomGraph(random, 25, 64);
  const std::unique_ptr<Session> session = CreateDispatch(setting, DispatchRule::kPath);
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&, c] {
      for (int run = 0; run < 8; ++run) right += RunsRight(*session, static_cast<float>(c));
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(right.load() == 24);
}

TEST_CASE("DispatchSession, BesidePlansOfOneCore", "[exec]") {
  // The plan holds a core for runs of its own again and again; those that decide get it in between.
  Setting setting(2, false);
  setting.graph = Diamond();
  const std::unique_ptr<Session> session = CreateDispatch(setting, DispatchRule::kOperator);
  const std::unique_ptr<Session> plain =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[1]")));
  std::atomic<bool> ended{false}, right{true};
  std::thread other([&] {
    while (!ended.load()) right = right && RunsRight(*plain, 1);
  });
  for (int run = 0; run < 50; ++run) CHECK(RunsRight(*session, 2));
  ended.store(true);
  other.join();
  CHECK(right.load());
}

TEST_CASE("DispatchSession, DecisionsAreReported", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const Result<RunReport> decided = RunOnce(*CreateDispatch(setting, DispatchRule::kOperator));
  REQUIRE(decided.ok());
  CHECK(decided->decision_ns > 0);
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]"));
  CHECK(RunOnce(*setting.Create(plan))->decision_ns == 0);
}

TEST_CASE("DispatchSession, AFailingKernelEndsTheRunAndIsNamed", "[exec]") {
  const uint32_t cores = GENERATE(1U, 2U, 4U);
  Setting setting(cores, false);
  setting.graph = Diamond("fail=1");
  const std::unique_ptr<Session> session = CreateDispatch(setting, DispatchRule::kOperator);
  for (int run = 0; run < 3; ++run) {
    const Result<RunReport> report = RunOnce(*session);
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().message.find("Mix l") != std::string::npos);
  }
}

TEST_CASE("DispatchSession, CancelEndsARunAndTheNextOneWorks", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond("hold=1");
  const std::unique_ptr<Session> session = CreateDispatch(setting, DispatchRule::kOperator);
  CancelToken cancel;
  std::thread canceller([&] {
    while (setting.control.holding.load() == 0) std::this_thread::yield();
    cancel.Cancel();
    setting.control.release.store(true);
  });
  const Result<RunReport> cancelled = RunOnce(*session, {.cancel = &cancel});
  canceller.join();
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.error().id == "run.cancelled");
  cancel.Reset();
  CHECK(RunsRight(*session, 5, {.cancel = &cancel}));
}

TEST_CASE("DispatchSession, ADeadlineEndsARunAndTheNextOneWorks", "[exec]") {
  Setting setting(2, true);
  setting.graph = Diamond();
  const std::unique_ptr<Session> session = CreateDispatch(setting, DispatchRule::kOperator);
  const Result<RunReport> late = RunOnce(*session, {.deadline = std::chrono::nanoseconds(1)});
  REQUIRE_FALSE(late.ok());
  CHECK(late.error().id == "run.deadline");
  CHECK(RunsRight(*session, 0, {.deadline = std::chrono::hours(1)}));
}

TEST_CASE("DispatchSession, ADeadlineEndsTheWaitForCoresThatOthersHold", "[exec]") {
  Setting setting(2, false);
  setting.graph = Parse("input x float32[8]\ny = Mix(x) hold=1 : float32[8]\noutput y\n");
  const char* held = GENERATE("cpu[0]", "cpu[1]");
  const std::unique_ptr<Session> holding =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere(held)));
  const auto graph = Diamond();
  const DispatchPlan dispatch = MakeTestDispatch(*graph, *setting.machine, DispatchRule::kOperator);
  const auto session = Session::CreateDispatch(graph, dispatch, *setting.machine);
  REQUIRE(session.ok());
  std::atomic<bool> right{false};
  std::thread holder([&] { right.store(RunsRight(*holding, 0)); });
  while (setting.control.holding.load() == 0) std::this_thread::yield();
  const Result<RunReport> late = RunOnce(**session, {.deadline = std::chrono::milliseconds(20)});
  REQUIRE_FALSE(late.ok());
  CHECK(late.error().id == "run.deadline");
  setting.control.release.store(true);
  holder.join();
  CHECK(right.load());
  CHECK(RunsRight(**session, 1));
}

TEST_CASE("DispatchSession, ALostDeviceEndsTheRunAndTheNextOneWorks", "[exec]") {
  Setting setting(2, true);
  std::mt19937 random(3);
  setting.graph = MakeRandomGraph(random, 30, 64);
  const std::unique_ptr<Session> session = CreateDispatch(setting, DispatchRule::kOperator);
  REQUIRE(RunsRight(*session, 0));
  setting.device.lose.store(true);
  const Result<RunReport> lost = RunOnce(*session);
  REQUIRE_FALSE(lost.ok());
  CHECK(lost.error().id == "fake.lost");
  setting.device.lose.store(false);
  CHECK(RunsRight(*session, 0));
}

TEST_CASE("DispatchSession, ADeviceThatHangsIsLost", "[exec]") {
  Setting setting(2, true);
  std::mt19937 random(3);
  setting.graph = MakeRandomGraph(random, 30, 64);
  SessionOptions options;
  options.device_grace = std::chrono::milliseconds(20);
  const std::unique_ptr<Session> session = CreateDispatch(setting, DispatchRule::kOperator, options);
  setting.device.stall.store(true);
  const int before = setting.device.begun.load();
  CancelToken cancel;
  std::atomic<bool> over{false};
  std::thread canceller([&] {
    while (setting.device.begun.load() == before && !over.load()) std::this_thread::yield();
    cancel.Cancel();
  });
  const Result<RunReport> hung = RunOnce(*session, {.cancel = &cancel});
  over.store(true);
  canceller.join();
  REQUIRE_FALSE(hung.ok());
  REQUIRE(hung.error().id == "device.hung");
  CHECK(RunOnce(*session).error().id == "device.lost");
  setting.device.stall.store(false);
  while (setting.machine->lost_devices().IsAnyAtWork()) std::this_thread::yield();
}

TEST_CASE("DispatchSession, WhatItCannotDoIsRefused", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const DispatchPlan dispatch = MakeTestDispatch(*setting.graph, *setting.machine, DispatchRule::kOperator);
  SessionOptions sequential;
  sequential.sequential = true;
  CHECK(Refusal(setting, dispatch, sequential) == "session.dispatch_twin");
  SessionOptions small;
  small.run_bytes = 1;
  CHECK(Refusal(setting, dispatch, small) == "session.memory_limit");
  DispatchPlan elsewhere = dispatch;
  elsewhere.plan.made_for.graph_hash = "0";
  CHECK(Refusal(setting, elsewhere) == "plan.stale");
  DispatchPlan damaged = dispatch;
  damaged.table.tasks[0].readers.clear();
  CHECK(Refusal(setting, damaged) == "dispatch.fault");

  const std::unique_ptr<Session> session = CreateDispatch(setting, DispatchRule::kOperator);
  Trace trace;
  CHECK(RunOnce(*session, {.trace = &trace}).error().id == "run.dispatch_trace");
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]"));
  CHECK(session->Replace(plan).error().id == "session.dispatch_replace");
  CHECK(RunsRight(*session, 4));

  Setting timeless;
  SimulatedCalls calls;
  timeless.machine =
      MakeSimulatedMachine(MakeTestPlatform(2, true), timeless.control, {SimulatedClock::kVirtual, &calls});
  timeless.graph = Diamond();
  const DispatchPlan on_it = MakeTestDispatch(*timeless.graph, *timeless.machine, DispatchRule::kOperator);
  CHECK(Refusal(timeless, on_it) == "session.dispatch_clock");
}

TEST_CASE("DispatchSession, APlacementThatNoLibraryOffersIsRefusedWhereverItStands", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const DispatchPlan good = MakeTestDispatch(*setting.graph, *setting.machine, DispatchRule::kOperator);
  REQUIRE(Refusal(setting, good).empty());
  int placements = 0;
  for (size_t t = 0; t < good.table.tasks.size(); ++t) {
    for (size_t p = 0; p < good.table.tasks[t].placements.size(); ++p) {
      CAPTURE(t, p);
      DispatchPlan bad = good;
      auto& run = std::get<RunGroup>(bad.plan.steps[good.table.tasks[t].placements[p].steps[0].index()].work);
      Candidate other = bad.plan.candidates[run.candidate.index()];
      other.variant += " of another kind";
      run.candidate = PlanCandidateId(bad.plan.candidates.size());
      bad.plan.candidates.push_back(std::move(other));
      CHECK(Refusal(setting, bad) == "plan.illegal");
      ++placements;
    }
  }
  CHECK(placements == 8);  // four tasks on two cores
}

TEST_CASE("DispatchSession, TheSameBitsAsTheSequentialTwinOfAnyDecision", "[exec]") {
  std::mt19937 random(11);
  Setting setting(2, false);
  setting.graph = MakeRandomGraph(random, 25, 64);
  const DispatchPlan dispatch = MakeTestDispatch(*setting.graph, *setting.machine, DispatchRule::kOperator);
  std::vector<uint32_t> choices;
  for (const DispatchTask& task : dispatch.table.tasks) {
    choices.push_back(static_cast<uint32_t>(random() % task.placements.size()));
  }
  const Result<Plan> plan = StaticPlanOf(*setting.graph, setting.machine->platform(), dispatch, choices);
  REQUIRE(plan.ok());
  SessionOptions options;
  options.sequential = true;
  const std::unique_ptr<Session> twin = setting.Create(*plan, options);
  const std::unique_ptr<Session> decided = CreateDispatch(setting, DispatchRule::kOperator);
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 2);
  std::vector<Buffer> ones = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  std::vector<Buffer> others = MakeBuffers(*setting.graph, setting.graph->outputs(), 1);
  REQUIRE(twin->Run(Lend(inputs), Lend(ones)).ok());
  REQUIRE(decided->Run(Lend(inputs), Lend(others)).ok());
  for (size_t i = 0; i < ones.size(); ++i) CHECK(ones[i].data == others[i].data);
}

}  // namespace pt::testing::dispatch_session_test
