// What a simulated device with rules for its calls offers, how exact it computes, and how it fails.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/graph/half.h"
#include "partitiontuner/platform/discover.h"
#include "test/testing/simulated_machine.h"
#include "test/testing/test_machine.h"

namespace pt::testing::simulated_npu_test {
namespace {

constexpr const char* kNpu = R"({
  "version": 1, "name": "npu:0", "memory_bytes": 1000000, "streams": 2,
  "calls": {"operators": ["Add", "Conv", "Relu"], "least_flops": 100000, "islands": true, "math": "fp16"},
  "call_ns": 50000,
  "to_device": {"latency_ns": 1000, "bytes_per_ns": 2.0},
  "from_device": {"latency_ns": 3000, "bytes_per_ns": 4.0},
  "families": {"Conv": {"fixed_ns": 100, "flops_per_ns": 10, "bytes_per_ns": 0},
               "*": {"fixed_ns": 10, "flops_per_ns": 0, "bytes_per_ns": 1}}})";

Platform WithNpu() { return WithSimulatedDevice(kNpu); }

// An island of three, an operator that the device does not take, and an island of two.
std::shared_ptr<const Graph> TwoIslands() {
  return std::make_shared<const Graph>(ParseGraph("input x float32[1,8,12,12]\n"
                                                  "const w float32[8,8,3,3] random 7\n"
                                                  "const v float32[8,8,3,3] random 8\n"
                                                  "a = Conv(x, w) pads=[1,1,1,1] : float32[1,8,12,12]\n"
                                                  "b = Relu(a) : float32[1,8,12,12]\n"
                                                  "c = Add(b, x) : float32[1,8,12,12]\n"
                                                  "d = Tanh(c) : float32[1,8,12,12]\n"
                                                  "e = Conv(d, v) pads=[1,1,1,1] : float32[1,8,12,12]\n"
                                                  "y = Relu(e) : float32[1,8,12,12]\n"
                                                  "output y\n")
                                           .value());
}

// Two convolutions that need nothing of each other.
std::shared_ptr<const Graph> TwoConvolutions() {
  return std::make_shared<const Graph>(ParseGraph("input x float32[1,8,12,12]\n"
                                                  "const w float32[8,8,3,3] random 7\n"
                                                  "const v float32[8,8,3,3] random 8\n"
                                                  "a = Conv(x, w) pads=[1,1,1,1] : float32[1,8,12,12]\n"
                                                  "b = Conv(x, v) pads=[1,1,1,1] : float32[1,8,12,12]\n"
                                                  "output a\noutput b\n")
                                           .value());
}

std::unique_ptr<Machine> NpuMachine(const SimulatedFaults& faults = {}) {
  Platform platform = WithNpu();
  platform.simulated.at(DeviceId(1u)).faults = faults;
  return SimulatedMachine(std::move(platform));
}

Plan PlanOn(const Graph& graph, const Machine& machine, const std::vector<const char*>& units) {
  std::vector<UnitId> ids;
  for (const char* unit : units) ids.push_back(FindUnit(machine.platform(), unit));
  return MakeTestPlan(graph, machine, ids);
}

std::unique_ptr<Session> SessionOn(Machine& machine, const std::shared_ptr<const Graph>& graph,
                                   const std::vector<const char*>& units, const SessionOptions& options = {}) {
  auto session = Session::Create(graph, PlanOn(*graph, machine, units), machine, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  return std::move(session).value();
}

struct Outcome {
  Result<RunReport> report = RunReport();
  std::vector<Buffer> outputs;
};

Outcome RunOn(Session& session) {
  Outcome outcome;
  std::vector<Buffer> inputs = MakeBuffers(session.graph(), session.graph().inputs(), -1);
  for (size_t i = 0; i < inputs[0].data.size(); ++i) inputs[0].data[i] = std::sin(0.37F * static_cast<float>(i));
  outcome.outputs = MakeBuffers(session.graph(), session.graph().outputs(), 0);
  outcome.report = session.Run(Lend(inputs), Lend(outcome.outputs));
  return outcome;
}

// Relative to the largest magnitude of the expected numbers.
double WorstError(const Buffer& actual, const Buffer& expected) {
  double worst = 0, most = 0;
  for (size_t i = 0; i < expected.data.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(actual.data[i]) - expected.data[i]));
    most = std::max(most, std::abs(static_cast<double>(expected.data[i])));
  }
  return worst / most;
}

}  // namespace

TEST_CASE("SimulatedNpu, OffersConvexGroupsOfItsOperatorsThatAreWorthACall", "[backend]") {
  const Platform platform = WithNpu();
  const auto library = MakeSimulatedLibrary();
  const auto graph = TwoIslands();
  std::vector<std::vector<uint32_t>> offered;
  for (const Candidate& candidate : library->Candidates(*graph, platform, Precision({MathMode::kFp16}))) {
    CHECK(candidate.math == MathMode::kFp16);
    CHECK(IsConvex(*graph, candidate.nodes));
    CHECK_FALSE(WhyNoCall(*graph, platform, candidate));
    std::vector<uint32_t> nodes;
    for (const NodeId node : candidate.nodes) nodes.push_back(node.value);
    offered.push_back(nodes);
  }
  std::ranges::sort(offered);
  // The convolutions alone and with what belongs to them; no Relu and no Add alone, and nothing with Tanh.
  CHECK(offered == std::vector<std::vector<uint32_t>>{{0}, {0, 1}, {0, 1, 2}, {4}, {4, 5}});
  // Any other convex group may be asked for.
  const std::vector<NodeId> pair = {NodeId(0u), NodeId(1u)}, tanh = {NodeId(2u), NodeId(3u), NodeId(4u)};
  CHECK(library->CandidatesFor(*graph, platform, pair, Precision({MathMode::kFp16})).size() == 1);
  CHECK(library->CandidatesFor(*graph, platform, tanh, Precision({MathMode::kFp16})).empty());
}

TEST_CASE("SimulatedNpu, ItsPrecisionMustBeAllowed", "[backend]") {
  const Platform platform = WithNpu();
  const auto library = MakeSimulatedLibrary();
  CHECK(library->Candidates(*TwoIslands(), platform, Precision()).empty());
  CHECK(library->Modes(platform) == Precision({MathMode::kFp16}));
}

TEST_CASE("SimulatedNpu, RulesAreNamedWhereTheyAreBroken", "[backend]") {
  const Platform platform = WithNpu();
  const Device& npu = platform.device(DeviceId(1u));
  const auto graph = TwoIslands();
  const auto why = [&](std::vector<NodeId> nodes) { return WhyNoCall(npu, *graph, nodes).value_or(""); };
  CHECK(why({NodeId(0u)}) == "");
  CHECK(why({NodeId(3u)}) == "npu:0 does not take Tanh");
  CHECK(why({NodeId(1u)}) ==
        "npu:0 is not called for 1 thousand operations: less than 100 thousand are not worth a call");
}

TEST_CASE("SimulatedNpu, ACallIsPaidOnceForAllItsNodes", "[backend]") {
  const Platform platform = WithNpu();
  const auto library = MakeSimulatedLibrary();
  const auto graph = TwoIslands();
  const auto cost = [&](const std::vector<NodeId>& nodes) {
    const auto candidates = library->CandidatesFor(*graph, platform, nodes, Precision({MathMode::kFp16}));
    REQUIRE(candidates.size() == 1);
    return *library->KnownCost(*graph, platform, candidates[0]);
  };
  constexpr double kConvolution = 100 + 2.0 * 8 * 144 * 8 * 9 / 10;  // by flops
  constexpr double kRelu = 10 + 2 * 4 * 8 * 144;                     // by bytes read and written
  CHECK(cost({NodeId(4u)}) == std::llround(50000 + kConvolution));
  CHECK(cost({NodeId(4u), NodeId(5u)}) == std::llround(50000 + kConvolution + kRelu));
}

TEST_CASE("SimulatedNpu, RoundsToItsPrecisionAndTheHostDoesNot", "[backend]") {
  const auto machine = NpuMachine();
  const auto graph = TwoConvolutions();
  const Outcome host = RunOn(*SessionOn(*machine, graph, {"cpu[0]", "cpu[0]"}));
  const Outcome mixed = RunOn(*SessionOn(*machine, graph, {"npu:0#0", "cpu[0]"}));
  REQUIRE(host.report.ok());
  REQUIRE(mixed.report.ok());
  // More than what fp32 may be off, less than what fp16 may be.
  const double error = WorstError(mixed.outputs[0], host.outputs[0]);
  CHECK(error > RelativeTolerance(MathMode::kFp32, DataType::kFloat32));
  CHECK(error < RelativeTolerance(MathMode::kFp16, DataType::kFloat32));
  for (const float value : mixed.outputs[0].data) CHECK(ToFloat(ToHalf(value)) == value);
  CHECK(mixed.outputs[1].data == host.outputs[1].data);
}

TEST_CASE("SimulatedNpu, APlanThatSaysAnotherPrecisionOrBreaksARuleIsRefused", "[backend]") {
  const auto machine = NpuMachine();
  const auto graph = TwoConvolutions();
  const Plan plan = PlanOn(*graph, *machine, {"npu:0#0", "cpu[0]"});
  const auto judge = [&](const Plan& judged) {
    return JudgePlan(*graph, machine->platform(), machine->libraries(), judged);
  };
  REQUIRE(judge(plan).may_run());
  Plan exact = plan;
  REQUIRE(exact.candidates[0].math == MathMode::kFp16);
  exact.candidates[0].math = MathMode::kFp32;
  const Status refused = StatusOf(judge(exact));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("npu:0 computes in fp16, not in fp32") != std::string::npos);
}

TEST_CASE("SimulatedNpu, RequestsInFlightShareTheComputingAndNotTheCall", "[backend]") {
  const auto machine = NpuMachine();
  const auto graph = TwoConvolutions();
  const auto makespan = [&](const std::vector<const char*>& units) {
    const Outcome outcome = RunOn(*SessionOn(*machine, graph, units));
    REQUIRE(outcome.report.ok());
    return outcome.report->makespan_ns;
  };
  const int64_t one_by_one = makespan({"npu:0#0", "npu:0#0"}), in_flight = makespan({"npu:0#0", "npu:0#1"});
  constexpr int64_t kComputing = 2 * 8 * 144 * 8 * 9 / 10;
  CHECK(in_flight < one_by_one - 40'000);  // most of a call is hidden
  CHECK(in_flight > 2 * kComputing + 50'000 - kComputing);
}

TEST_CASE("SimulatedNpu, ALostDeviceFailsItsRunsAndLeavesTheHost", "[backend]") {
  const auto machine = NpuMachine({.lost_after = 3});
  const auto graph = TwoConvolutions();
  for (const bool capture : {true, false}) {
    INFO("capture " << capture);
    SessionOptions options;
    options.capture = capture;
    const auto session = SessionOn(*machine, graph, {"npu:0#0", "npu:0#1"}, options);
    // Two kernels a run: the second run loses it in the middle, and no session gets it back.
    if (capture) CHECK(RunOn(*session).report.ok());
    for (int run = 0; run < 2; ++run) {
      const Outcome outcome = RunOn(*session);
      REQUIRE_FALSE(outcome.report.ok());
      CHECK(outcome.report.error().id == "simulated.lost");
      CHECK(outcome.report.error().device == "npu:0");
    }
  }
  CHECK(RunOn(*SessionOn(*machine, graph, {"cpu[0]", "cpu[1]"})).report.ok());
}

TEST_CASE("SimulatedNpu, AFullQueueFailsTheRunAndTheNextOneThatFitsGoesOn", "[backend]") {
  // In, two kernels, two results: more than four pieces of work at once.
  const auto machine = NpuMachine({.queue = 4});
  const auto graph = TwoConvolutions();
  for (const bool capture : {true, false}) {
    INFO("capture " << capture);
    SessionOptions options;
    options.capture = capture;
    const auto both = SessionOn(*machine, graph, {"npu:0#0", "npu:0#1"}, options);
    const auto one = SessionOn(*machine, graph, {"npu:0#0", "cpu[0]"}, options);
    for (int run = 0; run < 2; ++run) {
      const Outcome outcome = RunOn(*both);
      REQUIRE_FALSE(outcome.report.ok());
      CHECK(outcome.report.error().id == "simulated.queue_full");
      CHECK(outcome.report.error().device == "npu:0");
      CHECK(RunOn(*one).report.ok());
    }
  }
}

TEST_CASE("SimulatedNpu, ALateDeviceGivesTheSameNumbersLater", "[backend]") {
  const auto graph = TwoConvolutions();
  const auto in_time = NpuMachine(), late = NpuMachine({.slow_down = 3});
  const Outcome expected = RunOn(*SessionOn(*in_time, graph, {"npu:0#0", "npu:0#0"}));
  const Outcome outcome = RunOn(*SessionOn(*late, graph, {"npu:0#0", "npu:0#0"}));
  REQUIRE(expected.report.ok());
  REQUIRE(outcome.report.ok());
  CHECK(outcome.report->makespan_ns == 3 * expected.report->makespan_ns);
  CHECK(outcome.outputs[0].data == expected.outputs[0].data);
  CHECK(outcome.outputs[1].data == expected.outputs[1].data);
}

}  // namespace pt::testing::simulated_npu_test
