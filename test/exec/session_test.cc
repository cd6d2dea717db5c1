// Sessions on fake libraries and devices: whatever the plan, the result is that of one loop over the nodes.
#include "partitiontuner/exec/session.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <thread>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/plan/memory_plan.h"
#include "test/exec/session_setting.h"
#include "test/testing/trace_checks.h"

namespace pt::testing::session_test {

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
  const TraceTally tally = CheckTraceEvents(ToTraceEventJson(trace, platform, *setting.graph, plan));
  CHECK(tally.steps.at("measured") == 4);
  CHECK(tally.arrows.at("measured: data") == 3);  // into both branches, and from the second into their sum
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

TEST_CASE("Session, HelpersOfAKernelWithThreadsOfItsOwnSleepAtOnce", "[exec]") {
  const bool says_so = GENERATE(true, false);
  const uint32_t cores = GENERATE(2u, 12u);
  CAPTURE(says_so, cores);
  Setting setting(cores, false);
  setting.graph = Parse(
      "input x float32[64]\n"
      "a = Mix(x) : float32[64]\n"
      "b = Mix(a) threads=3 silent=" +
      std::string(says_so ? "0" : "1") +
      " : float32[64]\n"
      "y = Mix(a, b) : float32[64]\noutput y\n");
  const std::string all = "cpu[0-" + std::to_string(cores - 1) + "]";
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere(all)));
  for (int run = 0; run < 3; ++run) CHECK(RunsRight(*session, static_cast<float>(run)));
  CHECK((setting.control.turns_spun.load() == 0) == says_so);
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

TEST_CASE("Session, TwoSetsOfBuffersInTurnsAreBoundOnceEach", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")));
  std::vector<Buffer> inputs[3], outputs[3];
  for (int set = 0; set < 3; ++set) {
    inputs[set] = MakeBuffers(*setting.graph, setting.graph->inputs(), static_cast<float>(set));
    outputs[set] = MakeBuffers(*setting.graph, setting.graph->outputs(), -1);
  }
  const auto run = [&](int set) {
    for (Buffer& output : outputs[set]) std::ranges::fill(output.data, -1.0F);
    REQUIRE(session->Run(Lend(inputs[set]), Lend(outputs[set])).ok());
    CHECK(outputs[set][0].data == Interpret(*setting.graph, inputs[set])[0]);
    return setting.control.bound.load();
  };
  CHECK(run(0) == 4);
  CHECK(run(1) == 6);  // a reads the caller's buffer, y writes one
  for (const int set : {0, 1, 0, 1, 1, 0}) CHECK(run(set) == 6);
  // The third set takes the place of the one that was used less recently.
  CHECK(run(2) == 8);
  CHECK(run(0) == 8);
  CHECK(run(1) == 10);
}

TEST_CASE("Session, AnyMixOfBuffersGivesTheResultOfOneLoop", "[exec]") {
  const auto seed = GENERATE(range(1u, 7u));
  const bool with_device = GENERATE(false, true);
  CAPTURE(seed, with_device);
  std::mt19937 random(seed);
  Setting setting(2, with_device);
  setting.graph = MakeRandomGraph(random, 30, 33);
  const std::unique_ptr<Session> session = setting.Create(
      MakeTestPlan(*setting.graph, *setting.machine, RandomUnits(*setting.graph, setting.machine->platform(), random)));
  std::vector<Buffer> inputs[3], outputs[3];
  for (int set = 0; set < 3; ++set) {
    inputs[set] = MakeBuffers(*setting.graph, setting.graph->inputs(), static_cast<float>(10 * set));
    outputs[set] = MakeBuffers(*setting.graph, setting.graph->outputs(), -1);
  }
  for (int run = 0; run < 40; ++run) {
    std::vector<Buffer> taken;  // copies with the same values, for the loop
    std::vector<LentTensor> in, out;
    for (size_t i = 0; i < inputs[0].size(); ++i) {
      const size_t set = random() % 3;
      taken.push_back(inputs[set][i]);
      in.push_back(Lend(inputs[set])[i]);
    }
    std::vector<size_t> sets;
    for (size_t i = 0; i < outputs[0].size(); ++i) {
      sets.push_back(random() % 3);
      std::ranges::fill(outputs[sets[i]][i].data, -1.0F);
      out.push_back(Lend(outputs[sets[i]])[i]);
    }
    REQUIRE(session->Run(in, out).ok());
    const auto expected = Interpret(*setting.graph, taken);
    for (size_t i = 0; i < out.size(); ++i) CHECK(outputs[sets[i]][i].data == expected[i]);
  }
}

TEST_CASE("Session, AfterAFailedBindNoStepKeepsTheBuffersOfEarlierRuns", "[exec]") {
  Setting setting(1, false);
  setting.graph = Parse(
      "input x float32[8]\ninput w float32[8]\n"
      "a = Mix(x) : float32[8]\nb = Mix(w) : float32[8]\ny = Mix(a, b) : float32[8]\noutput y\n");
  const std::unique_ptr<Session> session =
      setting.Create(MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere("cpu[0]")));
  const int failing = GENERATE(0, 1, 2);
  const bool throws = GENERATE(false, true);
  CAPTURE(failing, throws);
  setting.control.throws.store(throws);
  std::vector<Buffer> old_inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> old_outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), -1);
  REQUIRE(session->Run(Lend(old_inputs), Lend(old_outputs)).ok());
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 100);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), -1);
  setting.control.fail_bind.store(failing);
  const Result<RunReport> failed = session->Run(Lend(inputs), Lend(outputs));
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().id == (throws ? "run.exception" : "fake.bind"));
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
  const std::vector<LentTensor> in = Lend(inputs), out = Lend(outputs);
  const auto refused = [&](std::vector<LentTensor> i, std::vector<LentTensor> o) {
    const Result<RunReport> report = session->Run(i, o);
    return !report.ok() && report.error().code == ErrorCode::kInvalidInput;
  };
  CHECK(refused({}, out));
  CHECK(refused(in, {}));
  LentTensor changed = in[0];
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
  Plan older = plan;
  older.made_for.libraries["fake"] = "0";
  CHECK(code(Session::Create(setting.graph, older, *setting.machine)) == ErrorCode::kStale);
  older = plan;
  older.made_for.tool_version = "0.0.1";
  CHECK(code(Session::Create(setting.graph, older, *setting.machine)) == ErrorCode::kStale);
  Plan renamed = plan;
  renamed.candidates[2].library = "missing";
  CHECK(code(Session::Create(setting.graph, renamed, *setting.machine)) == ErrorCode::kDeviceUnusable);
  Plan illegal = plan;
  illegal.steps[0].after = {StepId(3u)};
  CHECK(code(Session::Create(setting.graph, illegal, *setting.machine)) == ErrorCode::kInvalidInput);
}

}  // namespace pt::testing::session_test
