// Sessions on fake libraries and devices: whatever the plan, the result is that of one loop over the nodes.
#include "partitiontuner/exec/session.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <fstream>
#include <iterator>
#include <thread>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/plan/memory_plan.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

// A machine, and a graph with inputs, outputs and what they should be.
struct Setting {
  FakeControl control;
  FakeDeviceControl device;
  std::unique_ptr<Machine> machine;
  std::shared_ptr<const Graph> graph;

  Setting(uint32_t cores, bool with_device) {
    machine = MakeFakeMachine(MakeTestPlatform(cores, with_device), control, device);
  }
  std::unique_ptr<Session> Create(const Plan& plan, const SessionOptions& options = {}) {
    auto session = Session::Create(graph, plan, *machine, options);
    if (!session.ok()) FAIL(ToString(session.error()));
    return std::move(session).value();
  }
  std::vector<UnitId> Everywhere(const std::string& unit) const {
    return std::vector<UnitId>(graph->nodes().size(), FindUnit(machine->platform(), unit));
  }
};

// Runs once with buffers of its own and compares; false on any difference.
bool RunsRight(Session& session, float start, const RunOptions& options = {}) {
  const Graph& graph = session.graph();
  std::vector<Buffer> inputs = MakeBuffers(graph, graph.inputs(), start);
  std::vector<Buffer> outputs = MakeBuffers(graph, graph.outputs(), -1000);
  const auto expected = Interpret(graph, inputs);
  const Result<RunReport> report = session.Run(Lend(inputs), Lend(outputs), options);
  if (!report.ok()) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data != expected[i]) return false;
  }
  return true;
}

// Cancels as soon as the thread that made it sleeps.
class CancelWhenThisThreadSleeps {
 public:
  explicit CancelWhenThisThreadSleeps(CancelToken& cancel)
      : thread_([&cancel, path = "/proc/self/task/" + std::to_string(gettid()) + "/stat"] {
          while (StateIn(path) != 'S') std::this_thread::yield();
          cancel.Cancel();
        }) {}
  ~CancelWhenThisThreadSleeps() { thread_.join(); }

 private:
  static char StateIn(const std::string& path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const size_t name_end = text.rfind(')');
    return name_end == std::string::npos ? '?' : text.at(name_end + 2);
  }
  std::thread thread_;
};

std::shared_ptr<const Graph> Parse(std::string_view text) {
  return std::make_shared<const Graph>(ParseGraph(text).value());
}

std::shared_ptr<const Graph> Diamond(const std::string& left_attributes = "") {
  return Parse(
      "input x float32[64]\n"
      "a = Mix(x) : float32[64]\n"
      "l = Mix(a) " +
      left_attributes +
      " : float32[64]\n"
      "r = Mix(a) : float32[64]\n"
      "y = Mix(l, r) : float32[64]\n"
      "output y\n");
}

}  // namespace

TEST_CASE("Session, RandomPlansGiveTheResultOfOneLoop", "[exec]") {
  const uint32_t cores = GENERATE(1u, 2u, 4u);
  const bool with_device = GENERATE(false, true);
  const auto seed = GENERATE(range(1u, 7u));
  CAPTURE(cores, with_device, seed);
  std::mt19937 random(seed);
  Setting setting(cores, with_device);
  setting.graph = MakeRandomGraph(random, 60, 97);
  for (int i = 0; i < 4; ++i) {
    const Plan plan = MakeTestPlan(*setting.graph, *setting.machine,
                                   RandomUnits(*setting.graph, setting.machine->platform(), random));
    const std::unique_ptr<Session> session = setting.Create(plan);
    const std::unique_ptr<Session> twin = setting.Create(plan, {.sequential = true});
    for (int run = 0; run < 3; ++run) {
      Trace trace;
      RunOptions options;
      if (run == 1) options.trace = &trace;
      CHECK(RunsRight(*session, static_cast<float>(run), options));
      CHECK(RunsRight(*twin, static_cast<float>(run)));
    }
  }
  CHECK(setting.control.wrong_team.load() == 0);
}

TEST_CASE("Session, DiamondOnTwoCoresReportsItsTrace", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const Platform& platform = setting.machine->platform();
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]"),
               both = FindUnit(platform, "cpu[0-1]");
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, {both, one, two, one});
  const std::unique_ptr<Session> session = setting.Create(plan);
  Trace trace;
  REQUIRE(RunsRight(*session, 0, {.trace = &trace}));
  REQUIRE(trace.events.size() == 4);
  for (const TraceEvent& event : trace.events) {
    CHECK(event.start_ns >= 0);
    CHECK(event.end_ns >= event.start_ns);
    CHECK(event.end_ns <= trace.run_ns);
    CHECK_FALSE(event.simulated);
  }
  CHECK(trace.events[1].start_ns >= trace.events[0].end_ns);
  CHECK(trace.events[2].start_ns >= trace.events[0].end_ns);
  CHECK(trace.events[3].start_ns >= trace.events[2].end_ns);
  const TraceShares shares = SharesOf(trace, platform, plan);
  CHECK(shares.kernels > 0);
  CHECK(shares.kernels + shares.reorders + shares.copies + shares.waits + shares.overhead > 0.999);
  CHECK(shares.kernels + shares.reorders + shares.copies + shares.waits + shares.overhead < 1.001);
  const Result<Json> json = ParseJson(ToTraceEventJson(trace, platform, *setting.graph, plan), "trace");
  REQUIRE(json.ok());
  CHECK(json->find("traceEvents")->as_array()->size() == 4 + 3);  // steps and lane names
}

TEST_CASE("Session, IndependentBranchesRunAtTheSameTime", "[exec]") {
  // Both branches hold until both have begun: one after the other would never end.
  Setting setting(2, false);
  setting.graph = Parse(
      "input x float32[8]\n"
      "l = Mix(x) hold=1 : float32[8]\nr = Mix(x) hold=1 : float32[8]\n"
      "y = Mix(l, r) : float32[8]\noutput y\n");
  const Platform& platform = setting.machine->platform();
  const UnitId one = FindUnit(platform, "cpu[0]"), two = FindUnit(platform, "cpu[1]");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {one, two, one}));
  std::thread releaser([&] {
    while (setting.control.holding.load() < 2) std::this_thread::yield();
    setting.control.release.store(true);
  });
  CHECK(RunsRight(*session, 1));
  releaser.join();
}

TEST_CASE("Session, OutputsMayBeInputsConstantsAndRepeats", "[exec]") {
  Setting setting(2, false);
  GraphBuilder builder;
  const ValueType type = StaticType(DataType::kFloat32, {3});
  const ValueId x = builder.AddInput("x", type);
  const ValueId c = builder.AddConstant("c", Tensor::Float32({3}, {7, 8, 9}));
  const ValueId y = builder.AddOp("Mix", {x}, type, {}, "y");
  for (ValueId output : {y, x, c, y, x}) builder.AddOutput(output);
  setting.graph = std::make_shared<const Graph>(builder.Build().value());
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[1]")));
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 4);
  std::vector<Buffer> outputs(5, Buffer{{3}, {0, 0, 0}});
  REQUIRE(session->Run(Lend(inputs), Lend(outputs)).ok());
  std::vector<float> expected(3);
  FakeCompute(*setting.graph, NodeId(0u), {inputs[0].data.data()}, expected.data(), 3);
  CHECK(outputs[0].data == expected);
  CHECK(outputs[1].data == inputs[0].data);
  CHECK(outputs[2].data == std::vector<float>{7, 8, 9});
  CHECK(outputs[3].data == expected);
  CHECK(outputs[4].data == inputs[0].data);
}

TEST_CASE("Session, GraphWithoutNodesCopiesItsInputs", "[exec]") {
  Setting setting(1, false);
  GraphBuilder builder;
  builder.AddOutput(builder.AddInput("x", StaticType(DataType::kFloat32, {2})));
  setting.graph = std::make_shared<const Graph>(builder.Build().value());
  const std::unique_ptr<Session> session = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {}));
  CHECK(RunsRight(*session, 3));
}

TEST_CASE("Session, OnlyStepsAtChangedBuffersAreBoundAgain", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")));
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  REQUIRE(session->Run(Lend(inputs), Lend(outputs)).ok());
  CHECK(setting.control.bound.load() == 4);
  REQUIRE(session->Run(Lend(inputs), Lend(outputs)).ok());
  CHECK(setting.control.bound.load() == 4);
  std::vector<Buffer> others = outputs;
  REQUIRE(session->Run(Lend(inputs), Lend(others)).ok());
  CHECK(setting.control.bound.load() == 5);
  CHECK(others[0].data == outputs[0].data);
}

TEST_CASE("Session, AfterAFailedBindNoStepKeepsTheBuffersOfEarlierRuns", "[exec]") {
  Setting setting(1, false);
  setting.graph = Parse(
      "input x float32[8]\ninput w float32[8]\n"
      "a = Mix(x) : float32[8]\nb = Mix(w) : float32[8]\ny = Mix(a, b) : float32[8]\noutput y\n");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")));
  const int failing = GENERATE(0, 1, 2);
  CAPTURE(failing);
  std::vector<Buffer> old_inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> old_outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), -1);
  REQUIRE(session->Run(Lend(old_inputs), Lend(old_outputs)).ok());
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 100);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), -1);
  setting.control.fail_bind.store(failing);
  const Result<RunReport> failed = session->Run(Lend(inputs), Lend(outputs));
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().id == "fake.bind");
  setting.control.fail_bind.store(-1);
  REQUIRE(session->Run(Lend(inputs), Lend(outputs)).ok());
  CHECK(outputs[0].data == Interpret(*setting.graph, inputs)[0]);
  REQUIRE(session->Run(Lend(old_inputs), Lend(old_outputs)).ok());
  CHECK(old_outputs[0].data == Interpret(*setting.graph, old_inputs)[0]);
}

TEST_CASE("Session, ErrorInAStepIsReportedAndTheSessionStaysUsable", "[exec]") {
  const uint32_t cores = GENERATE(1u, 2u, 4u);
  const auto seed = GENERATE(range(1u, 5u));
  CAPTURE(cores, seed);
  std::mt19937 random(seed);
  Setting setting(cores, true);
  std::shared_ptr<const Graph> good = MakeRandomGraph(random, 40, 31);
  GraphBuilder builder(*good);
  const NodeId bad(random() % good->nodes().size());
  builder.node(bad).attributes["fail"] = int64_t{1};
  setting.graph = std::make_shared<const Graph>(builder.Build().value());
  const std::vector<UnitId> units = RandomUnits(*setting.graph, setting.machine->platform(), random);
  const std::unique_ptr<Session> session = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, units));
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  for (int run = 0; run < 3; ++run) {
    const Result<RunReport> report = session->Run(Lend(inputs), Lend(outputs));
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().code == ErrorCode::kRunFailed);
    CHECK(report.error().id == "fake.fail");
    CHECK(report.error().message.find("(#" + std::to_string(bad.value) + ")") != std::string::npos);
  }
  // The machine's cores are free for others.
  setting.graph = good;
  CHECK(RunsRight(*setting.Create(MakeTestPlan(*good, *setting.machine, units)), 2));
}

TEST_CASE("Session, LostDeviceFailsTheRunAndLetsGo", "[exec]") {
  Setting setting(2, true);
  setting.graph = Diamond();
  const Platform& platform = setting.machine->platform();
  const UnitId stream = FindUnit(platform, "fake:0#0"), core = FindUnit(platform, "cpu[0]");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {core, stream, core, core}));
  REQUIRE(RunsRight(*session, 0));
  setting.device.lose.store(true);
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  const Result<RunReport> report = session->Run(Lend(inputs), Lend(outputs));
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().id == "fake.lost");
  setting.device.lose.store(false);
  CHECK(RunsRight(*session, 0));
}

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
  const std::unique_ptr<Session> session = setting.Create(MakeTestPlan(*setting.graph, *setting.machine, {two, one}));
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&, i] { right.fetch_add(RunsRight(*session, static_cast<float>(i)) ? 1 : 0); });
  }
  while (setting.control.enqueued.load() < 3) std::this_thread::yield();
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

TEST_CASE("Session, PlansOverTheMemoryLimitAreRefused", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]"));
  SessionOptions options;
  options.run_bytes = 1;
  const auto refused = Session::Create(setting.graph, plan, *setting.machine, options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOutOfMemory);
  options.run_bytes = 0;
  CHECK(RunsRight(*setting.Create(plan, options), 0));
}

TEST_CASE("Session, WrongTensorsAreRefusedBeforeAnythingRuns", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")));
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  const std::vector<HostTensor> in = Lend(inputs), out = Lend(outputs);
  const auto refused = [&](std::vector<HostTensor> i, std::vector<HostTensor> o) {
    const Result<RunReport> report = session->Run(i, o);
    return !report.ok() && report.error().code == ErrorCode::kInvalidInput;
  };
  CHECK(refused({}, out));
  CHECK(refused(in, {}));
  HostTensor changed = in[0];
  changed.type = DataType::kInt32;
  CHECK(refused({changed}, out));
  changed = in[0];
  changed.dims = {8, 8};
  CHECK(refused({changed}, out));
  changed = in[0];
  changed.data = nullptr;
  CHECK(refused({changed}, out));
  changed = in[0];
  changed.bytes -= 1;
  CHECK(refused({changed}, out));
  changed = in[0];
  changed.data = reinterpret_cast<char*>(changed.data) + 1;
  CHECK(refused({changed}, out));
  CHECK(refused(in, in));  // the output overlaps the input
  CHECK(setting.control.enqueued.load() == 0);
  CHECK(session->Run(in, out).ok());
}

TEST_CASE("Session, PlansForOtherGraphsOrMachinesAreStale", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[1]"));
  const auto code = [](const Result<std::unique_ptr<Session>>& session) {
    return session.ok() ? ErrorCode::kAssertionFailed : session.error().code;
  };
  CHECK(code(Session::Create(Diamond("fail=1"), plan, *setting.machine)) == ErrorCode::kStale);
  Setting smaller(1, false);  // fewer cores than the plan needs
  CHECK(code(Session::Create(setting.graph, plan, *smaller.machine)) == ErrorCode::kStale);
  Plan renamed = plan;
  renamed.candidates[2].library = "missing";
  CHECK(code(Session::Create(setting.graph, renamed, *setting.machine)) == ErrorCode::kStale);
  Plan illegal = plan;
  illegal.steps[0].after = {StepId(3u)};
  CHECK(code(Session::Create(setting.graph, illegal, *setting.machine)) == ErrorCode::kInvalidInput);
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

}  // namespace pt::testing
