// Work on asynchronous devices: streams that wait for each other, captures, and what happens when a device fails or
// hangs. The device is the product's own simulated one, on its virtual and on its real clock.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstring>
#include <map>
#include <thread>

#include "lib/exec/lost_devices.h"
#include "lib/exec/program.h"
#include "partitiontuner/exec/lent_buffer.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/test_machine.h"

namespace pt::testing::device_streams_test {
namespace {

using Kind = Instruction::Kind;

std::shared_ptr<const Graph> Parse(std::string_view text) {
  return std::make_shared<const Graph>(ParseGraph(text).value());
}

// x -> a -> {l, r} -> y, with attributes for l.
std::shared_ptr<const Graph> Diamond(const std::string& left = "") {
  return Parse(
      "input x float32[64]\n"
      "a = Mix(x) : float32[64]\n"
      "l = Mix(a) " +
      left +
      " : float32[64]\n"
      "r = Mix(a) : float32[64]\n"
      "y = Mix(l, r) : float32[64]\n"
      "output y\n");
}

struct Setting {
  FakeControl control;
  SimulatedCalls calls;
  std::unique_ptr<Machine> machine;
  std::shared_ptr<const Graph> graph;

  explicit Setting(SimulatedClock clock, std::shared_ptr<const Graph> g = Diamond(), uint32_t cores = 2)
      : Setting(MakeTestPlatform(cores, true), clock, std::move(g)) {}
  Setting(Platform platform, SimulatedClock clock, std::shared_ptr<const Graph> g) : graph(std::move(g)) {
    machine = MakeSimulatedMachine(std::move(platform), control, {clock, &calls});
  }

  Plan PlanOn(const std::vector<const char*>& units, const LentOn& lent_on = {}) const {
    std::vector<UnitId> ids;
    for (const char* unit : units) ids.push_back(FindUnit(machine->platform(), unit));
    return MakeTestPlan(*graph, *machine, ids, lent_on);
  }
  std::unique_ptr<Session> Create(const Plan& plan, const SessionOptions& options = {}) const {
    auto session = Session::Create(graph, plan, *machine, options);
    if (!session.ok()) FAIL(ToString(session.error()));
    return std::move(session).value();
  }
};

// Buffers of one run, and what the outputs should be. What the plan wants on a device is lent there.
struct RunBuffers {
  explicit RunBuffers(const Graph& graph, float start = 0)
      : inputs(MakeBuffers(graph, graph.inputs(), start)),
        outputs(MakeBuffers(graph, graph.outputs(), -1000)),
        expected(Interpret(graph, inputs)) {}
  Result<RunReport> Run(Session& session, const RunOptions& options = {}) {
    PT_ASSIGN(const std::vector<LentTensor> in, LendTo(session, session.graph().inputs(), inputs, on_inputs));
    PT_ASSIGN(const std::vector<LentTensor> out, LendTo(session, session.graph().outputs(), outputs, on_outputs));
    Result<RunReport> report = session.Run(in, out, options);
    if (report.ok()) PT_CHECK_OK(Fetch(on_outputs, outputs));
    return report;
  }
  bool AreRight() const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].data != expected[i]) return false;
    }
    return true;
  }

  std::vector<Buffer> inputs, outputs;
  std::vector<std::vector<float>> expected;
  std::map<size_t, LentBuffer> on_inputs, on_outputs;  // on devices

 private:
  static Result<std::vector<LentTensor>> LendTo(Session& session, std::span<const ValueId> values,
                                                std::vector<Buffer>& buffers, std::map<size_t, LentBuffer>& on_device) {
    std::vector<LentTensor> tensors = Lend(buffers);
    for (size_t i = 0; i < values.size(); ++i) {
      const DeviceId device = LentDevice(session.plan()->lent_on, values[i]);
      if (IsHost(device)) continue;
      if (!on_device.contains(i)) {
        PT_ASSIGN(LentBuffer made, LentBuffer::Make(session.machine(), device, DataType::kFloat32, buffers[i].dims));
        on_device.emplace(i, std::move(made));
      }
      LentBuffer& buffer = on_device.at(i);
      PT_CHECK_OK(buffer.Write(std::as_bytes(std::span(buffers[i].data))));
      tensors[i] = buffer.tensor();
    }
    return tensors;
  }
  static Status Fetch(const std::map<size_t, LentBuffer>& on_device, std::vector<Buffer>& buffers) {
    for (const auto& [i, buffer] : on_device) {
      PT_ASSIGN(const Tensor read, buffer.Read());
      std::memcpy(buffers[i].data.data(), read.bytes().data(), read.bytes().size());
    }
    return {};
  }
};

// Random devices for what can be lent on them.
LentOn RandomLending(const Graph& graph, const Platform& platform, std::mt19937& random) {
  LentOn lent_on;
  for (const std::span<const ValueId> values : {graph.inputs(), graph.outputs()}) {
    for (const ValueId value : values) {
      const DeviceId device(random() % platform.devices.size());
      if (LendingFault(graph, platform, value, device).empty()) lent_on[value] = device;
    }
  }
  return lent_on;
}

bool RunsRight(Session& session, float start = 0, const RunOptions& options = {}) {
  RunBuffers buffers(session.graph(), start);
  const Result<RunReport> report = buffers.Run(session, options);
  if (!report.ok()) UNSCOPED_INFO(ToString(report.error()));
  return report.ok() && buffers.AreRight();
}

// Which step of the plan runs the node.
size_t StepOf(const Plan& plan, uint32_t node) {
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto* group = std::get_if<RunGroup>(&plan.steps[s].work);
    if (group != nullptr && plan.candidates[group->candidate.index()].nodes[0].value == node) return s;
  }
  FAIL("no step runs node " << node);
  return 0;
}

// Ends the hang, so that the machine can free what it kept.
void LetGo(Setting& setting) {
  CHECK(setting.machine->lost_devices().IsAnyAtWork());
  setting.control.release.store(true);
  while (setting.machine->lost_devices().IsAnyAtWork()) std::this_thread::yield();
}

// No step ends before it starts; on the units of one device none starts before the steps it waits for are over.
void CheckTimes(const Setting& setting, const Plan& plan, const Trace& trace) {
  const Platform& platform = setting.machine->platform();
  REQUIRE(trace.events.size() == plan.steps.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    CAPTURE(s);
    CHECK(trace.events[s].end_ns >= trace.events[s].start_ns);
    for (const StepId predecessor : plan.steps[s].after) {
      if (platform.device_of(plan.steps[predecessor.index()].unit) != platform.device_of(plan.steps[s].unit)) continue;
      CHECK(trace.events[s].start_ns >= trace.events[predecessor.index()].end_ns);
    }
  }
}

const std::vector<const char*> kTwoStreams = {"fake:0#0", "fake:0#0", "fake:0#1", "fake:0#0"};

}  // namespace

TEST_CASE("DeviceStreams, RandomPlansGiveTheResultOfOneLoop", "[exec]") {
  const SimulatedClock clock = GENERATE(SimulatedClock::kVirtual, SimulatedClock::kReal);
  const uint32_t cores = GENERATE(1u, 2u, 4u);
  const bool linked = GENERATE(false, true);
  const bool lent = GENERATE(false, true);
  const auto seed = GENERATE(range(1u, 5u));
  CAPTURE(static_cast<int>(clock), cores, linked, lent, seed);
  std::mt19937 random(seed);
  Platform platform = MakeTestPlatform(cores, true);
  AddSecondDevice(platform, linked);
  Setting setting(std::move(platform), clock, MakeRandomGraph(random, 60, 97));
  const Platform& made = setting.machine->platform();
  const std::vector<UnitId> units = RandomUnits(*setting.graph, made, random);
  const LentOn lent_on = lent ? RandomLending(*setting.graph, made, random) : LentOn();
  const Plan plan = MakeTestPlan(*setting.graph, *setting.machine, units, lent_on);
  const auto session = setting.Create(plan);
  const auto single = setting.Create(plan, {.capture = false});
  const auto twin = setting.Create(plan, {.sequential = true});
  for (int run = 0; run < 3; ++run) {
    Trace trace;
    RunOptions options;
    if (run == 1) options.trace = &trace;
    CHECK(RunsRight(*session, static_cast<float>(run), options));
    if (run == 1) CheckTimes(setting, plan, trace);
    CHECK(RunsRight(*single, static_cast<float>(run), options));
    if (run == 1) CheckTimes(setting, plan, trace);
    CHECK(RunsRight(*twin, static_cast<float>(run)));
  }
}

TEST_CASE("DeviceStreams, AnEdgeBetweenTwoStreamsNeedsNoHostCore", "[exec]") {
  Setting setting(SimulatedClock::kReal);
  const Plan plan = setting.PlanOn(kTwoStreams);
  const Program program =
      CompileProgram(setting.machine->platform(), plan, std::vector<StepAction>(plan.steps.size(), StepAction::kRun));
  size_t stream_waits = 0;
  for (const std::vector<Instruction>& list : program.lists) {
    // Nothing but launches and waits on the device until the run is over.
    for (const Instruction& instruction : list) {
      const bool host = instruction.kind == Kind::kPollEvent || instruction.kind == Kind::kWaitFlag ||
                        instruction.kind == Kind::kRunTeam;
      CHECK_FALSE(host);
      stream_waits += instruction.kind == Kind::kStreamWait ? 1 : 0;
    }
  }
  CHECK(stream_waits == 4);  // copy to a, a to r, r to y, y to copy

  const auto session = setting.Create(plan, {.capture = false});
  Trace trace;
  REQUIRE(RunsRight(*session, 1, {.trace = &trace}));
  // By the device's own clock each step starts after what it waits for.
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    CHECK(trace.events[s].end_ns >= trace.events[s].start_ns);
    for (StepId predecessor : plan.steps[s].after) {
      CHECK(trace.events[s].start_ns >= trace.events[predecessor.index()].end_ns);
    }
  }
}

TEST_CASE("DeviceStreams, BranchesOnTwoStreamsOverlap", "[exec]") {
  Setting setting(SimulatedClock::kVirtual, Diamond("ns=3000"));
  const Plan plan = setting.PlanOn(kTwoStreams);
  for (const bool capture : {true, false}) {
    const auto session = setting.Create(plan, {.capture = capture});
    Trace trace;
    RunBuffers buffers(*setting.graph);
    REQUIRE(buffers.Run(*session, {.trace = &trace}).ok());
    const TraceEvent& l = trace.events[StepOf(plan, 1)];
    const TraceEvent& r = trace.events[StepOf(plan, 2)];
    CHECK(l.start_ns == 1000);
    CHECK(r.start_ns == 1000);
    CHECK(r.end_ns == 2000);
    CHECK(l.end_ns == 4000);
    CHECK(trace.run_ns == 5000);
  }
}

TEST_CASE("DeviceStreams, ASegmentIsCapturedOnceAndLaunchedAsOne", "[exec]") {
  Setting setting(SimulatedClock::kVirtual);
  const auto session = setting.Create(setting.PlanOn(kTwoStreams));
  setting.calls.Take();
  CHECK(RunsRight(*session, 1));
  // Streams as they were made: 0 copies in, 1 and 2 compute, 3 copies out.
  const std::vector<std::string> once = {"stream 0: begin capture",
                                         "stream 0: record",
                                         "stream 1: wait for stream 0",
                                         "stream 2: wait for stream 0",
                                         "stream 3: wait for stream 0",
                                         "stream 0: copy in",
                                         "stream 0: record",
                                         "stream 1: wait for stream 0",
                                         "stream 1: kernel",
                                         "stream 1: record",  // a
                                         "stream 1: kernel",  // l
                                         "stream 2: wait for stream 1",
                                         "stream 2: kernel",
                                         "stream 2: record",  // r
                                         "stream 1: wait for stream 2",
                                         "stream 1: kernel",
                                         "stream 1: record",  // y
                                         "stream 3: wait for stream 1",
                                         "stream 3: copy out",
                                         "stream 3: record",
                                         "stream 0: wait for stream 1",
                                         "stream 0: wait for stream 2",
                                         "stream 0: wait for stream 3",
                                         "stream 0: end capture",
                                         "stream 0: launch"};
  CHECK(setting.calls.Take() == once);
  // Other buffers of the caller change nothing: the device never sees them.
  for (int run = 0; run < 3; ++run) {
    CHECK(RunsRight(*session, static_cast<float>(run)));
    CHECK(setting.calls.Take() == std::vector<std::string>{"stream 0: launch"});
  }
}

TEST_CASE("DeviceStreams, WhatIsLentOnTheDeviceIsUsedInPlaceAndRecordedAnewWhenItMoves", "[exec]") {
  Setting setting(SimulatedClock::kVirtual);
  LentOn lent_on;
  for (ValueId value : {setting.graph->inputs()[0], setting.graph->outputs()[0]}) lent_on[value] = DeviceId(1u);
  const std::vector<const char*> one_stream(4, "fake:0#0");
  const auto session = setting.Create(setting.PlanOn(one_stream, lent_on));
  RunBuffers here(*setting.graph, 1), there(*setting.graph, 2);
  const auto calls_of = [&](RunBuffers& buffers) {
    CHECK(buffers.Run(*session).ok());
    CHECK(buffers.AreRight());
    std::vector<std::string> calls = setting.calls.Take();
    // Filling and reading the lent memory goes on other streams, made after the session's.
    std::erase_if(calls, [](const std::string& call) { return !call.starts_with("stream 0"); });
    return calls;
  };
  const std::vector<std::string> recorded = {"stream 0: begin capture", "stream 0: kernel", "stream 0: kernel",
                                             "stream 0: kernel",        "stream 0: kernel", "stream 0: record",
                                             "stream 0: end capture",   "stream 0: launch"};
  const std::vector<std::string> launched = {"stream 0: launch"};
  CHECK(calls_of(here) == recorded);
  CHECK(calls_of(here) == launched);
  CHECK(calls_of(there) == recorded);  // other memory
  CHECK(calls_of(there) == launched);
  CHECK(calls_of(here) == recorded);
}

TEST_CASE("DeviceStreams, MemoryOnAnotherDeviceThanThePlanWantsIsRefused", "[exec]") {
  Setting setting(SimulatedClock::kVirtual);
  const ValueId x = setting.graph->inputs()[0];
  const Plan on_device = setting.PlanOn(kTwoStreams, {{x, DeviceId(1u)}});
  const auto session = setting.Create(on_device);
  std::vector<Buffer> in = MakeBuffers(*setting.graph, setting.graph->inputs(), 0);
  std::vector<Buffer> out = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  const Result<RunReport> refused = session->Run(Lend(in), Lend(out));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  CHECK(refused.error().message == "input 'x' is lent on cpu, the plan wants it on fake:0");
  const Status replaced = session->Replace(setting.PlanOn(kTwoStreams));
  REQUIRE_FALSE(replaced.ok());
  CHECK(replaced.error().id == "session.lent_on");
  CHECK(RunsRight(*session));
}

TEST_CASE("LentBuffer, HoldsWhatIsWrittenAndRefusesOtherSizes", "[exec]") {
  Setting setting(GENERATE(SimulatedClock::kVirtual, SimulatedClock::kReal));
  for (const DeviceId device : {kHostDevice, DeviceId(1u)}) {
    LentBuffer buffer = LentBuffer::Make(*setting.machine, device, DataType::kInt32, {2, 3}).value();
    CHECK(buffer.tensor().bytes == 24);
    CHECK(buffer.tensor().device == device);
    const std::vector<int32_t> numbers = {1, -2, 3, INT32_MIN, INT32_MAX, 0};
    REQUIRE(buffer.Write(std::as_bytes(std::span(numbers))).ok());
    const Tensor read = buffer.Read().value();
    CHECK(read.dims() == std::vector<int64_t>{2, 3});
    CHECK(std::ranges::equal(read.bytes(), std::as_bytes(std::span(numbers))));
    CHECK(buffer.Write(std::as_bytes(std::span(numbers).first(5))).error().id == "lent_buffer.size");
    CHECK(LentBuffer::Make(*setting.machine, device, DataType::kFloat32, {0, 4})->Read()->bytes().empty());
    CHECK(LentBuffer::Make(*setting.machine, device, DataType::kString, {1}).error().code == ErrorCode::kUnsupported);
  }
}

TEST_CASE("DeviceStreams, NoSegmentReachesAcrossTheHost", "[exec]") {
  // l runs on the host: what comes after it cannot be launched with what comes before it.
  Setting setting(SimulatedClock::kVirtual);
  const Plan plan = setting.PlanOn({"fake:0#0", "cpu[0]", "fake:0#1", "fake:0#0"});
  ProgramOptions options;
  options.captures = [](DeviceId) { return true; };
  const Program program = CompileProgram(setting.machine->platform(), plan,
                                         std::vector<StepAction>(plan.steps.size(), StepAction::kRun), options);
  REQUIRE(program.segments.size() == 2);
  const uint32_t a = program.segment_of[StepOf(plan, 0)];
  CHECK(program.segment_of[StepOf(plan, 2)] == a);
  CHECK(program.segment_of[StepOf(plan, 3)] == 1 - a);
  const auto session = setting.Create(plan);
  for (int run = 0; run < 3; ++run) CHECK(RunsRight(*session, static_cast<float>(run)));
  CHECK(session->capture().segments == 2);
}

TEST_CASE("DeviceStreams, RunsTellWhatLaunchingSegmentsTook", "[exec]") {
  Setting setting(SimulatedClock::kReal);
  const auto session = setting.Create(setting.PlanOn(kTwoStreams));
  RunBuffers buffers(*setting.graph);
  CHECK(buffers.Run(*session)->segment_launch_ns == 0);  // recorded in this run
  const int64_t launched_ns = buffers.Run(*session)->segment_launch_ns;
  CHECK(launched_ns > 0);
  const auto one_by_one = setting.Create(setting.PlanOn(kTwoStreams), {.capture = false});
  for (int run = 0; run < 2; ++run) CHECK(buffers.Run(*one_by_one)->segment_launch_ns == 0);
}

TEST_CASE("DeviceStreams, DevicesWhosePlatformDoesNotSaySoAreNotRecorded", "[exec]") {
  Platform platform = MakeTestPlatform(2, true);
  FakeControl control;
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(kHostDevice));
  drivers.push_back(MakeSimulatedDriver(platform, DeviceId(1u), {SimulatedClock::kVirtual, nullptr}));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeFakeLibrary(control));
  const auto machine = Machine::Assemble(platform, std::move(drivers), std::move(libraries)).value();
  const std::shared_ptr<const Graph> graph = Diamond();
  const std::vector<UnitId> units(4, FindUnit(platform, "fake:0#0"));
  const auto session = Session::Create(graph, MakeTestPlan(*graph, *machine, units), *machine).value();
  CHECK(session->capture().segments == 0);
  CHECK(session->capture().cannot == std::vector<std::string>{"fake:0"});
  CHECK(RunsRight(*session));
}

TEST_CASE("DeviceStreams, DevicesThatCannotCaptureGetSingleLaunchesAndSaySo", "[exec]") {
  FakeControl control;
  FakeDeviceControl device;
  const auto machine = MakeFakeMachine(MakeTestPlatform(2, true), control, device);
  const std::shared_ptr<const Graph> graph = Diamond();
  std::vector<UnitId> units(4, FindUnit(machine->platform(), "fake:0#0"));
  const auto session = Session::Create(graph, MakeTestPlan(*graph, *machine, units), *machine).value();
  CHECK(session->capture().segments == 0);
  CHECK(session->capture().cannot == std::vector<std::string>{"fake:0"});
  CHECK(RunsRight(*session));
}

TEST_CASE("DeviceStreams, AHangIsMetByTheDeadlineAndTheDeviceIsLost", "[exec]") {
  const bool capture = GENERATE(false, true);
  Setting setting(SimulatedClock::kReal, Diamond("hold=1"));
  const Plan plan = setting.PlanOn(kTwoStreams);
  SessionOptions options;
  options.capture = capture;
  options.device_grace = std::chrono::milliseconds(5);
  auto session = setting.Create(plan, options);
  auto buffers = std::make_unique<RunBuffers>(*setting.graph);
  const std::vector<Buffer> untouched = buffers->outputs;
  const Result<RunReport> hung = buffers->Run(*session, {.deadline = std::chrono::milliseconds(200)});
  REQUIRE_FALSE(hung.ok());
  CHECK(hung.error().code == ErrorCode::kRunFailed);
  CHECK(hung.error().id == "device.hung");
  CHECK(hung.error().device == "fake:0");
  // Refused at once, by any session; the host is as good as before.
  const Result<RunReport> refused = buffers->Run(*session);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().id == "device.lost");
  setting.graph = Diamond();
  CHECK(RunsRight(*setting.Create(setting.PlanOn({"cpu[0]", "cpu[1]", "cpu[0]", "cpu[1]"}))));
  // Whatever the device does later reaches memory that lives on, and none of the caller's.
  CHECK(buffers->outputs[0].data == untouched[0].data);
  buffers.reset();
  session.reset();
  LetGo(setting);
}

TEST_CASE("DeviceStreams, ACancelledRunEndsAlthoughTheDeviceHangs", "[exec]") {
  Setting setting(SimulatedClock::kReal, Diamond("hold=1"));
  SessionOptions options;
  options.device_grace = std::chrono::milliseconds(5);
  const auto session = setting.Create(setting.PlanOn(kTwoStreams), options);
  CancelToken cancel;
  std::thread canceller([&] {
    while (setting.control.holding.load() == 0) std::this_thread::yield();
    cancel.Cancel();
  });
  RunBuffers buffers(*setting.graph);
  const Result<RunReport> hung = buffers.Run(*session, {.cancel = &cancel});
  canceller.join();
  REQUIRE_FALSE(hung.ok());
  CHECK(hung.error().id == "device.hung");
  LetGo(setting);
}

TEST_CASE("DeviceStreams, AnErrorAfterPartialEnqueueLeavesNothingRunning", "[exec]") {
  const bool capture = GENERATE(false, true);
  Setting setting(SimulatedClock::kReal, Diamond("fail_after=1 ns=3000000"));
  const Plan plan = setting.PlanOn(kTwoStreams);
  const auto session = setting.Create(plan, {.capture = capture});
  for (int run = 0; run < 3; ++run) {
    RunBuffers buffers(*setting.graph);
    const Result<RunReport> failed = buffers.Run(*session);
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().id == "fake.fail");
    CHECK(failed.error().message.find("(#1)") != std::string::npos);
    CHECK(setting.control.begun.load() == setting.control.ended.load());
  }
  // Neither the device nor the machine is the worse for it.
  setting.graph = Diamond();
  CHECK(RunsRight(*setting.Create(setting.PlanOn(kTwoStreams)), 3));
}

TEST_CASE("DeviceStreams, AnErrorOfTheDeviceNamesItsStepAndTheSessionStaysUsable", "[exec]") {
  const SimulatedClock clock = GENERATE(SimulatedClock::kVirtual, SimulatedClock::kReal);
  Setting setting(clock, Diamond("fail_late=1"));
  const auto session = setting.Create(setting.PlanOn(kTwoStreams), {.capture = false});
  for (int run = 0; run < 3; ++run) {
    RunBuffers buffers(*setting.graph);
    const Result<RunReport> failed = buffers.Run(*session);
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().id == "fake.fail");
    CHECK(failed.error().message.find("(#1)") != std::string::npos);
    CHECK(setting.control.begun.load() == setting.control.ended.load());
  }
}

TEST_CASE("DeviceStreams, CopiesBetweenDevicesTakeTheirLinkAndElseTheHost", "[exec]") {
  const SimulatedClock clock = GENERATE(SimulatedClock::kVirtual, SimulatedClock::kReal);
  const bool linked = GENERATE(false, true);
  Platform platform = MakeTestPlatform(2, true);
  AddSecondDevice(platform, linked);
  Setting setting(std::move(platform), clock, Diamond());
  const Plan plan = setting.PlanOn({"fake:0#0", "fake:1#0", "fake:0#1", "fake:0#0"});
  size_t between = 0, copies = 0;
  for (const Step& step : plan.steps) {
    const auto* copy = std::get_if<Copy>(&step.work);
    if (copy == nullptr) continue;
    ++copies;
    const Link& link = setting.machine->platform().link(copy->link);
    between += link.from.index() != 0 && link.to.index() != 0 ? 1 : 0;
  }
  CHECK(between == (linked ? 2 : 0));
  CHECK(copies == (linked ? 4 : 6));
  const auto session = setting.Create(plan);
  for (int run = 0; run < 3; ++run) CHECK(RunsRight(*session, static_cast<float>(run)));
}

}  // namespace pt::testing::device_streams_test
