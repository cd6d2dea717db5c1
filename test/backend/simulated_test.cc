// The simulated device: arithmetic of the host, times of the platform file, a virtual clock.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <random>

#include "lib/backend/simulated/arithmetic.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/cost/table_costs.h"
#include "partitiontuner/exec/unit_runner.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/plan/timeline.h"
#include "partitiontuner/platform/discover.h"
#include "test/testing/host_lab.h"
#include "test/testing/simulated_machine.h"
#include "test/testing/test_machine.h"

namespace pt::testing::simulated_test {
namespace {

constexpr const char* kDescription = R"({
  "version": 1, "name": "sim:0", "memory_bytes": 100000, "streams": 1,
  "to_device": {"latency_ns": 1000, "bytes_per_ns": 2.0},
  "from_device": {"latency_ns": 3000, "bytes_per_ns": 4.0},
  "families": {"Conv": {"fixed_ns": 5000, "flops_per_ns": 2, "bytes_per_ns": 0},
               "*": {"fixed_ns": 700, "flops_per_ns": 0, "bytes_per_ns": 1}},
  "exact_ns": {}, "unsupported": ["Sigmoid"]})";

// Each copy takes 2 ms.
constexpr const char* kSlowLink = R"({
  "version": 1, "name": "sim:0", "memory_bytes": 100000, "streams": 1,
  "to_device": {"latency_ns": 2000000, "bytes_per_ns": 2.0},
  "from_device": {"latency_ns": 2000000, "bytes_per_ns": 4.0},
  "families": {"*": {"fixed_ns": 700, "flops_per_ns": 0, "bytes_per_ns": 1}},
  "exact_ns": {}, "unsupported": []})";

Platform WithSimulated(const std::string& description = kDescription) { return WithSimulatedDevice(description); }

std::shared_ptr<const Graph> Branches() {
  return std::make_shared<const Graph>(ParseGraph("input x float32[1,2,6,6]\n"
                                                  "const w float32[4,2,3,3] random 7\n"
                                                  "const v float32[4,2,3,3] random 8\n"
                                                  "a = Conv(x, w) pads=[1,1,1,1] : float32[1,4,6,6]\n"
                                                  "b = Conv(x, v) pads=[1,1,1,1] : float32[1,4,6,6]\n"
                                                  "r = Relu(a) : float32[1,4,6,6]\n"
                                                  "y = Add(r, b) : float32[1,4,6,6]\n"
                                                  "output y\n")
                                           .value());
}

struct RunResult {
  RunReport report;
  Trace trace;
  std::vector<float> output;
};

RunResult RunOnce(Session& session) {
  const Graph& graph = session.graph();
  std::vector<Buffer> inputs = MakeBuffers(graph, graph.inputs(), -1);
  std::vector<Buffer> outputs = MakeBuffers(graph, graph.outputs(), 0);
  RunResult result;
  RunOptions options;
  options.trace = &result.trace;
  const Result<RunReport> report = session.Run(Lend(inputs), Lend(outputs), options);
  if (!report.ok()) FAIL(ToString(report.error()));
  result.report = *report;
  result.output = outputs[0].data;
  return result;
}

std::unique_ptr<Session> SessionOn(Machine& machine, const std::shared_ptr<const Graph>& graph,
                                   const std::vector<const char*>& units, const SessionOptions& options = {}) {
  std::vector<UnitId> ids;
  for (const char* unit : units) ids.push_back(FindUnit(machine.platform(), unit));
  auto session = Session::Create(graph, MakeTestPlan(*graph, machine, ids), machine, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  return std::move(session).value();
}

}  // namespace

TEST_CASE("SimulatedDriver, CopiesCostWhatTheLinkSays", "[backend]") {
  const Platform platform = WithSimulated();
  const auto driver = MakeSimulatedDriver(platform, DeviceId(1u));
  const auto stream = driver->MakeStream().value();
  const auto event = driver->MakeEvent().value();
  const auto buffer = driver->Allocate(4000).value();
  std::vector<char> there(4000, 'x'), back(4000, ' ');
  const auto before = driver->MakeEvent().value();
  REQUIRE(stream->Record(*before).ok());
  REQUIRE(driver->EnqueueCopy(*stream, buffer->data(), there.data(), 4000, CopyDirection::kToDevice).ok());
  REQUIRE(stream->Record(*event).ok());
  CHECK(stream->Synchronize(std::chrono::seconds(10)).value());
  CHECK(event->Ready().value());
  CHECK(event->ElapsedNs(*before).value() == 1000 + 2000);
  REQUIRE(driver->EnqueueCopy(*stream, back.data(), buffer->data(), 4000, CopyDirection::kFromDevice).ok());
  REQUIRE(stream->Record(*event).ok());
  CHECK(stream->Synchronize(std::chrono::seconds(10)).value());
  CHECK(event->ElapsedNs(*before).value() == 3000 + 3000 + 1000);
  CHECK(back == there);
}

// However late its thread notices: a device that sleeps must not tell times of before it was woken.
TEST_CASE("SimulatedDriver, OnTheWallClockNoPointIsReachedBeforeItIsRecorded", "[backend]") {
  const Platform platform = WithSimulated();
  const auto driver = MakeSimulatedDriver(platform, DeviceId(1u), {SimulatedClock::kReal, nullptr});
  const auto stream = driver->MakeStream().value();
  const auto before = driver->MakeEvent().value(), after = driver->MakeEvent().value();
  // What lies between the two points is work of another device.
  constexpr int64_t kApartNs = 2'000'000;
  const Platform slow = WithSimulated(kSlowLink);
  const auto other = MakeSimulatedDriver(slow, DeviceId(1u), {SimulatedClock::kReal, nullptr});
  const auto between = other->MakeStream().value();
  const auto buffer = other->Allocate(1).value();
  const char byte = 'x';
  for (int i = 0; i < 3; ++i) {
    REQUIRE(stream->Record(*before).ok());
    REQUIRE(other->EnqueueCopy(*between, buffer->data(), &byte, 1, CopyDirection::kToDevice).ok());
    CHECK(between->Synchronize(std::chrono::seconds(10)).value());
    REQUIRE(stream->Record(*after).ok());
    CHECK(stream->Synchronize(std::chrono::seconds(10)).value());
    CHECK(after->ElapsedNs(*before).value() >= kApartNs);
  }
}

TEST_CASE("SimulatedDriver, MemoryIsLimitedAndGivenBack", "[backend]") {
  const auto driver = MakeSimulatedDriver(WithSimulated(), DeviceId(1u));
  auto half = driver->Allocate(60000).value();
  const auto refused = driver->Allocate(60000);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOutOfMemory);
  half.reset();
  CHECK(driver->Allocate(100000).ok());
  CHECK_FALSE(driver->Allocate(UINT64_MAX).ok());
}

TEST_CASE("SimulatedLibrary, ProposesForItsDeviceWithTimesFromTheFile", "[backend]") {
  const Platform platform = WithSimulated();
  const std::shared_ptr<const Graph> graph = Branches();
  const std::unique_ptr<Library> library = MakeSimulatedLibrary();
  CHECK(library->Serves(platform, DeviceId(1u)));
  CHECK_FALSE(library->Serves(platform, DeviceId(0u)));
  size_t singles = 0, groups = 0;
  for (const Candidate& candidate : library->Candidates(*graph, platform, Precision())) {
    CHECK(platform.unit_class(candidate.unit_class).name == "sim:0");
    (candidate.nodes.size() == 1 ? singles : groups) += 1;
    const WorkSize work = WorkSizeOf(*graph, candidate.nodes);
    const bool conv = graph->node(candidate.nodes[0]).op == "Conv";
    const double expected = conv ? 5000 + work.flops / 2 : 700 + work.bytes;
    CHECK(library->KnownCost(*graph, platform, candidate) == std::llround(expected));
  }
  CHECK(singles == 4);
  CHECK(groups == 3);  // Conv+Relu, Conv+Relu+Add, Conv+Add
  const Graph refused = ParseGraph("input x float32[2]\ny = Sigmoid(x) : float32[2]\noutput y\n").value();
  CHECK(library->Candidates(refused, platform, Precision()).empty());
}

TEST_CASE("SimulatedLibrary, AnExactRowBeatsTheFamily", "[backend]") {
  const std::shared_ptr<const Graph> graph = Branches();
  const NodeId relu(2u);
  const std::string hash = ToHex(HashText(WorkSignature(*graph, std::span(&relu, 1))));
  std::string description = kDescription;
  description.replace(description.find("\"exact_ns\": {}"), 14, "\"exact_ns\": {\"" + hash + "\": 123}");
  const Platform platform = WithSimulated(description);
  const std::unique_ptr<Library> library = MakeSimulatedLibrary();
  const std::vector<Candidate> candidates = library->CandidatesFor(*graph, platform, std::span(&relu, 1), Precision());
  REQUIRE(candidates.size() == 1);
  CHECK(library->KnownCost(*graph, platform, candidates[0]) == 123);
}

TEST_CASE("SimulatedLibrary, AnOperatorOfThatShapeBeatsTheOperator", "[backend]") {
  const std::shared_ptr<const Graph> graph = Branches();
  const std::string shaped =
      "\"Conv 1x2x6x6,4x2x3x3>1x4x6x6\": {\"fixed_ns\": 77, \"flops_per_ns\": 0, \"bytes_per_ns\": 0}, ";
  const std::string other = "\"Relu 1x4x6x7>1x4x6x7\": {\"fixed_ns\": 1, \"flops_per_ns\": 0, \"bytes_per_ns\": 0}, ";
  std::string description = kDescription;
  description.insert(description.find("\"Conv\""), shaped + other);
  const Platform platform = WithSimulated(description);
  const std::unique_ptr<Library> library = MakeSimulatedLibrary();
  for (const Candidate& candidate : library->Candidates(*graph, platform, Precision())) {
    // Groups with a convolution too: it is what weighs most.
    const bool conv = graph->node(candidate.nodes[0]).op == "Conv";
    const WorkSize work = WorkSizeOf(*graph, candidate.nodes);
    CHECK(library->KnownCost(*graph, platform, candidate) == (conv ? 77 : std::llround(700 + work.bytes)));
  }
}

TEST_CASE("SimulatedLibrary, AFusedGroupComputesWhatItsNodesDo", "[backend]") {
  const auto machine = SimulatedMachine(WithSimulated());
  const std::shared_ptr<const Graph> graph = Branches();
  const Library& library = *machine->library("simulated");
  const std::vector<NodeId> nodes = {NodeId(0u), NodeId(2u), NodeId(3u)};
  const std::vector<Candidate> candidates = library.CandidatesFor(*graph, machine->platform(), nodes, Precision());
  REQUIRE(candidates.size() == 1);
  const auto layout = [](std::vector<int64_t> dims) {
    return DenseLayout(DataType::kFloat32, std::move(dims), RowMajor(4)).value();
  };
  const std::vector<TensorLayout> in = {layout({1, 2, 6, 6}), layout({1, 4, 6, 6})};
  const std::vector<TensorLayout> out = {layout({1, 4, 6, 6})};
  const auto team = MakeSerialTeam();
  DeviceDriver& driver = machine->driver(DeviceId(1u));
  CompileContext context{machine->platform(), driver, team.get(), machine->weights(), nullptr};
  const auto kernel = library.Compile(*graph, candidates[0], in, out, context).value();
  std::vector<Buffer> inputs = MakeBuffers(*graph, graph->inputs(), -1);
  std::vector<float> other(144, 0.5f), result(144, 0);
  const std::vector<TensorView> in_views = {{inputs[0].data.data(), in[0]}, {other.data(), in[1]}};
  const std::vector<TensorView> out_views = {{result.data(), out[0]}};
  const auto bound = kernel->Bind(SlotsOf(in_views), SlotsOf(out_views), {}).value();
  const auto stream = driver.MakeStream().value();
  const auto before = driver.MakeEvent().value(), event = driver.MakeEvent().value();
  REQUIRE(stream->Record(*before).ok());
  REQUIRE(bound->Enqueue(StaticRun(*stream)).ok());
  REQUIRE(stream->Record(*event).ok());
  REQUIRE(stream->Synchronize(std::chrono::seconds(10)).value());
  CHECK(event->ElapsedNs(*before).value() == library.KnownCost(*graph, machine->platform(), candidates[0]));

  // The same on the host: y - b + 0.5 where b is the other branch.
  const auto session = SessionOn(*machine, graph, {"cpu[0]", "cpu[0]", "cpu[0]", "cpu[0]"});
  const auto branch_graph = std::make_shared<const Graph>(
      ParseGraph("input x float32[1,2,6,6]\nconst w float32[4,2,3,3] random 7\n"
                 "a = Conv(x, w) pads=[1,1,1,1] : float32[1,4,6,6]\ny = Relu(a) : float32[1,4,6,6]\noutput y\n")
          .value());
  const auto branch = SessionOn(*machine, branch_graph, {"cpu[1]", "cpu[1]"});
  const std::vector<float> relu = RunOnce(*branch).output;
  for (size_t i = 0; i < result.size(); ++i) CHECK(std::abs(result[i] - (relu[i] + 0.5f)) < 1e-5f);
}

// What needs reorders around a host kernel, what may lie in place, what the reference library alone has, several
// outputs.
TEST_CASE("SimulatedSession, GivesWhatTheReferenceLibraryGives", "[backend]") {
  std::string description = kDescription;
  description.replace(description.find("100000"), 6, "10000000");
  description.replace(description.find("\"Sigmoid\""), 9, "");
  const auto machine = SimulatedMachine(WithSimulated(description));
  const auto graph = TypedGraph(
      "input x float32[2,6,9,7]\n"
      "const w float32[8,6,3,3] random 7\nconst b float32[8] random 8\nconst d float32[8,1,3,3] random 9\n"
      "const m float32[7,5] random 10\nconst s float32[8] random 11\nconst shape int64[2] ints 2 -1\n"
      "c = Conv(x, w, b) pads=[1,1,1,1]\nr = Relu(c)\ne = Conv(r, d) group=8 pads=[1,1,1,1]\n"
      "g = Sigmoid(e)\nh = Mul(e, g)\ni = InstanceNormalization(h, s, s)\np = MaxPool(i) kernel_shape=[2,2]\n"
      "q = MatMul(i, m)\nt = Tan(g)\nsum = Add(t, i)\nf, l = Split(sum) axis=1 num_outputs=2\n"
      "n = Concat(f, l) axis=2\no = Softmax(q) axis=-1\nv = Reshape(n, shape)\n"
      "output p\noutput o\noutput v\noutput r\n");
  const std::vector<const char*> host(graph->nodes().size(), "cpu[0]"), device(graph->nodes().size(), "sim:0#0");
  std::vector<Buffer> inputs = MakeBuffers(*graph, graph->inputs(), -1);
  std::mt19937 random(5);
  for (float& value : inputs[0].data) value = std::uniform_real_distribution<float>(-1, 1)(random);
  const auto outputs_on = [&](const std::vector<const char*>& units) {
    std::vector<Buffer> outputs = MakeBuffers(*graph, graph->outputs(), 0);
    const auto session = SessionOn(*machine, graph, units);
    for (int run = 0; run < 2; ++run) {
      const Result<RunReport> report = session->Run(Lend(inputs), Lend(outputs));
      if (!report.ok()) FAIL(ToString(report.error()));
    }
    return outputs;
  };
  const std::vector<Buffer> expected = outputs_on(host), actual = outputs_on(device);
  for (size_t o = 0; o < expected.size(); ++o) {
    CAPTURE(o);
    float largest = 0;
    for (const float value : expected[o].data) largest = std::max(largest, std::abs(value));
    REQUIRE(largest > 0);
    for (size_t i = 0; i < expected[o].data.size(); ++i) {
      CHECK(std::abs(actual[o].data[i] - expected[o].data[i]) <= 1e-5f * largest);
    }
  }
}

TEST_CASE("SimulatedArithmetic, TakesAFastLibraryWhereThereIsOne", "[backend]") {
  const Platform platform = WithSimulated();
  const auto graph = Branches();
  const Arithmetic arithmetic;
  const auto driver = MakeHostDriver(kHostDevice);
  const auto team = MakeSerialTeam();
  const auto weights = MakeWeightStore();
  const CompileContext context{platform, *driver, team.get(), *weights, nullptr};
  const auto layout = [](std::vector<int64_t> dims) {
    return DenseLayout(DataType::kFloat32, std::move(dims), RowMajor(4)).value();
  };
  const std::vector<TensorLayout> in = {layout({1, 2, 6, 6})}, out = {layout({1, 4, 6, 6})};
  const NodeId conv(0u);
  const auto computation = arithmetic.Compile(*graph, std::span(&conv, 1), MathMode::kFp32, in, out, context);
  if (!computation.ok()) FAIL(ToString(computation.error()));
  const auto rows = BuiltInLibraries();
  const bool fast = std::any_of(rows.begin(), rows.end(), [](const LibraryRow& row) { return row.name == "onednn"; });
  // oneDNN's convolution makes no row-major image: a reorder follows it.
  CHECK(computation->parts.size() == (fast ? 2 : 1));
  CHECK(computation->inputs == 1);
  CHECK(computation->outputs == 1);
}

TEST_CASE("SimulatedSession, MakespanIsTheSumOfTheFileWhenAllRunsThere", "[backend]") {
  const auto machine = SimulatedMachine(WithSimulated());
  const std::shared_ptr<const Graph> graph = Branches();
  const auto session = SessionOn(*machine, graph, {"sim:0#0", "sim:0#0", "sim:0#0", "sim:0#0"});
  const Library& library = *machine->library("simulated");
  int64_t expected = 1000 + 4 * 72 / 2 + 3000 + 4 * 144 / 4;  // in and out
  const std::shared_ptr<const Plan> plan = session->plan();
  for (const Candidate& candidate : plan->candidates) {
    expected += *library.KnownCost(*graph, machine->platform(), candidate);
  }
  for (int run = 0; run < 3; ++run) {
    const RunResult result = RunOnce(*session);
    CHECK(result.report.simulated);
    CHECK(result.report.makespan_ns == expected);
    CHECK(result.trace.events.front().start_ns == 0);
    CHECK(result.trace.events.back().end_ns == expected);
    for (const TraceEvent& event : result.trace.events) CHECK(event.simulated);
  }
}

TEST_CASE("SimulatedSession, BranchesOnHostAndDeviceOverlapAndAgreeWithTheHost", "[backend]") {
  const auto machine = SimulatedMachine(WithSimulated());
  const std::shared_ptr<const Graph> graph = Branches();
  const std::vector<float> host = RunOnce(*SessionOn(*machine, graph, {"cpu[0]", "cpu[0]", "cpu[0]", "cpu[0]"})).output;
  const std::vector<const char*> mixed_units = {"cpu[0-1]", "sim:0#0", "cpu[1]", "cpu[0]"};
  const auto mixed = SessionOn(*machine, graph, mixed_units);
  const auto twin = SessionOn(*machine, graph, mixed_units, {.sequential = true});
  const RunResult parallel = RunOnce(*mixed);
  const RunResult sequential = RunOnce(*twin);
  CHECK(parallel.output == sequential.output);
  for (size_t i = 0; i < host.size(); ++i) CHECK(std::abs(parallel.output[i] - host[i]) < 1e-5f);

  // By the virtual clock no step starts before what it needs, and the device does not wait for the host's convolution.
  const std::shared_ptr<const Plan> mixed_plan = mixed->plan();
  const Plan& plan = *mixed_plan;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (StepId predecessor : plan.steps[i].after) {
      CHECK(parallel.trace.events[i].start_ns >= parallel.trace.events[predecessor.index()].end_ns);
    }
  }
  int64_t device_busy = 0, latest = 0;
  for (const TraceEvent& event : parallel.trace.events) {
    if (machine->platform().unit(event.unit).name == "sim:0#0") device_busy += event.end_ns - event.start_ns;
    latest = std::max(latest, event.end_ns);
  }
  CHECK(device_busy > 5000);
  CHECK(parallel.report.makespan_ns == latest);
  int64_t total = 0;
  for (const TraceEvent& event : sequential.trace.events) total += event.end_ns - event.start_ns;
  CHECK(sequential.report.makespan_ns >= total);  // nothing overlaps in the twin
}

TEST_CASE("SimulatedSession, ASegmentIsLaunchedAsTheTimelineSays", "[backend]") {
  // Two convolutions side by side, what follows them, and the copies: six steps.
  std::string description = kDescription;
  const std::string streams = "\"streams\": 1";
  REQUIRE(description.find(streams) != std::string::npos);
  description.replace(description.find(streams), streams.size(),
                      R"("streams": 2, "launches": {"step_ns": 2000, "segment_ns": 5000, "segment_step_ns": 300})");
  for (const std::string bytes : {"\"bytes_per_ns\": 0}", "\"bytes_per_ns\": 1}"}) {
    description.replace(description.find(bytes), bytes.size() - 1,
                        bytes.substr(0, bytes.size() - 1) + ", \"demand\": 0.5");
  }
  const auto machine = SimulatedMachine(WithSimulated(description));
  const std::shared_ptr<const Graph> graph = Branches();
  const std::vector<const char*> units = {"sim:0#0", "sim:0#1", "sim:0#0", "sim:0#0"};
  const auto as_one = SessionOn(*machine, graph, units);
  const auto one_by_one = SessionOn(*machine, graph, units, {.capture = false});
  CHECK(as_one->capture().segments == 1);
  CHECK(as_one->capture().steps == 6);
  CHECK(one_by_one->capture().segments == 0);

  const Plan& plan = *as_one->plan();
  Platform platform = machine->platform();
  TableCosts costs;
  int64_t chain_ns = 1000 + 4 * 72 / 2 + 3000 + 4 * 144 / 4;  // the copies in and out
  int64_t relu_ns = 0;
  for (const Candidate& candidate : plan.candidates) {
    const int64_t ns = *machine->library("simulated")->KnownCost(*graph, platform, candidate);
    costs.SetRunOf(candidate, ns);
    if (candidate.nodes.front() != NodeId(1u)) chain_ns += ns;  // beside the other one
    if (candidate.nodes.front() == NodeId(2u)) relu_ns = ns;
  }
  for (size_t l = 0; l < platform.links.size(); ++l) {
    costs.SetLink(LinkId(l), platform.links[l].latency_ns, platform.links[l].bytes_per_ns);
  }
  for (size_t k = 0; k < platform.unit_classes.size(); ++k) {
    costs.SetOverhead(UnitClassId(k), SimulatedLaunchNs(platform, platform.unit_classes[k].device));
  }
  costs.SetDevice(DeviceId(1u), SimulatedDeviceCost(platform, DeviceId(1u)));
  const auto agrees = [&](Session& session, const Timeline& timeline) {
    const RunResult result = RunOnce(session);
    for (size_t s = 0; s < timeline.start_ns.size(); ++s) {
      CHECK(result.trace.events[s].start_ns == timeline.start_ns[s]);
      CHECK(result.trace.events[s].end_ns == timeline.end_ns[s]);
    }
    CHECK(result.report.segment_launch_ns == 0);  // it takes none of the time on the wall clock
    return result.report.makespan_ns;
  };
  const Timeline captured = SimulatePlan(*graph, platform, plan, costs).value();
  CHECK(captured.makespan_ns == 5000 + 6 * 300 + chain_ns);
  CHECK(agrees(*as_one, captured) == captured.makespan_ns);
  const SegmentReport report = SegmentsOf(*graph, platform, plan, costs);
  CHECK(report == SegmentReport{1, 6, 6800, {}});

  platform.devices[1].captures = false;
  const Timeline single = SimulatePlan(*graph, platform, plan, costs).value();
  // The copy is over when the second convolution is launched, at 6000, which ends after what follows the first.
  REQUIRE(relu_ns < 2000);
  CHECK(single.makespan_ns == 6000 + chain_ns - (1000 + 4 * 72 / 2) - relu_ns);
  CHECK(agrees(*one_by_one, single) == single.makespan_ns);
}

TEST_CASE("SimulatedSession, StreamsShareTheDeviceAsTheTimelineSays", "[backend]") {
  // Two convolutions that ask for 0.75 of the device each, side by side on two streams.
  std::string description = kDescription;
  const auto replace = [&](const std::string& what, const std::string& by) {
    REQUIRE(description.find(what) != std::string::npos);
    description.replace(description.find(what), what.size(), by);
  };
  replace("\"streams\": 1", "\"streams\": 2");
  replace("\"bytes_per_ns\": 0}", "\"bytes_per_ns\": 0, \"demand\": 0.75}");
  const auto machine = SimulatedMachine(WithSimulated(description));
  const Platform& platform = machine->platform();
  const std::shared_ptr<const Graph> graph = Branches();
  const auto session = SessionOn(*machine, graph, {"sim:0#0", "sim:0#1", "sim:0#0", "sim:0#0"});
  const RunResult result = RunOnce(*session);
  const Plan& plan = *session->plan();

  TableCosts costs;
  for (const Candidate& candidate : plan.candidates) {
    costs.SetRunOf(candidate, *machine->library("simulated")->KnownCost(*graph, platform, candidate));
  }
  for (size_t l = 0; l < platform.links.size(); ++l) {
    costs.SetLink(LinkId(l), platform.links[l].latency_ns, platform.links[l].bytes_per_ns);
  }
  const Timeline timeline = SimulatePlan(*graph, platform, plan, costs).value();
  REQUIRE(result.trace.events.size() == timeline.start_ns.size());
  for (size_t s = 0; s < timeline.start_ns.size(); ++s) {
    CHECK(result.trace.events[s].start_ns == timeline.start_ns[s]);
    CHECK(result.trace.events[s].end_ns == timeline.end_ns[s]);
  }
  CHECK(result.report.makespan_ns == timeline.makespan_ns);
  // Alone each convolution takes 5000 ns and its arithmetic; together 1.5 times that.
  const int64_t alone = *machine->library("simulated")->KnownCost(*graph, platform, plan.candidates[0]);
  const auto on_device = [&](size_t node) {
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const auto* group = std::get_if<RunGroup>(&plan.steps[s].work);
      if (group != nullptr && group->candidate.index() == node) return timeline.end_ns[s] - timeline.start_ns[s];
    }
    return int64_t{0};
  };
  CHECK(on_device(0) == alone * 3 / 2);
  CHECK(on_device(1) == alone * 3 / 2);
}

}  // namespace pt::testing::simulated_test
