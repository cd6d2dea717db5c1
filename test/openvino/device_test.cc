// Devices of OpenVINO, by its CPU device described as one with memory and a queue of its own: real models, real
// requests and real callbacks on any machine.
#include "plugins/openvino/device.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/exec/judge_plan.h"
#include "plugins/openvino/discover.h"
#include "plugins/openvino/library.h"
#include "test/openvino/runtime_for_tests.h"
#include "test/testing/check_case.h"
#include "test/testing/rounds.h"
#include "test/testing/test_machine.h"

namespace pt::openvino {
namespace {

using testing::Buffer;
using testing::LoadCase;

constexpr const char* kCpuAsDevice = R"({"version": 1, "kind": "openvino", "device": "CPU", "requests": 2})";

Status Describe(const Runtime& runtime, const std::vector<std::string>& files, Platform& platform) {
  DiscoverRequest request;
  for (const std::string& text : files) request.described.push_back({"cpu.json", ParseJson(text, "cpu.json").value()});
  return AddDevices(runtime, request, platform);
}

// Two cores and the device.
std::unique_ptr<Machine> MakeMachine() {
  const std::shared_ptr<Runtime> runtime = RuntimeForTests();
  Platform platform = testing::MakeTestPlatform(2, false);
  const Status added = Describe(*runtime, {kCpuAsDevice}, platform);
  if (!added.ok()) FAIL(ToString(added.error()));
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(kHostDevice));
  drivers.push_back(std::make_unique<OvDriver>(DeviceId(1u), "openvino:CPU", runtime, "CPU"));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeReferenceLibrary());
  libraries.push_back(std::make_unique<OpenVinoLibrary>(runtime));
  return Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value();
}

std::shared_ptr<const Graph> Branches() {
  return std::make_shared<const Graph>(LoadCase({"",
                                                 "input x float32[1,8,12,12]\n"
                                                 "const w float32[8,8,3,3] random 7\n"
                                                 "const v float32[8,8,3,3] random 8\n"
                                                 "a = Conv(x, w) pads=[1,1,1,1]\n"
                                                 "b = Conv(x, v) pads=[1,1,1,1]\n"
                                                 "c = Relu(a)\n"
                                                 "d = Tanh(b)\n"
                                                 "e = Concat(c, d) axis=1\n"
                                                 "f = GlobalAveragePool(e)\n"
                                                 "g = Mul(e, f)\n"
                                                 "output g\n"}));
}

std::unique_ptr<Session> SessionOn(Machine& machine, const std::shared_ptr<const Graph>& graph,
                                   const std::vector<UnitId>& units, const SessionOptions& options = {}) {
  auto session = Session::Create(graph, testing::MakeTestPlan(*graph, machine, units), machine, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  return std::move(session).value();
}

std::vector<float> RunOn(Session& session, const RunOptions& options = {}) {
  std::vector<Buffer> inputs = testing::MakeBuffers(session.graph(), session.graph().inputs(), -1);
  for (size_t i = 0; i < inputs[0].data.size(); ++i) inputs[0].data[i] = std::sin(0.37F * static_cast<float>(i));
  std::vector<Buffer> outputs = testing::MakeBuffers(session.graph(), session.graph().outputs(), 0);
  const auto report = session.Run(testing::Lend(inputs), testing::Lend(outputs), options);
  if (!report.ok()) FAIL(ToString(report.error()));
  return outputs[0].data;
}

std::vector<UnitId> AllOn(const Graph& graph, const Platform& platform, const char* unit) {
  return std::vector<UnitId>(graph.nodes().size(), FindUnit(platform, unit));
}

}  // namespace

TEST_CASE("OpenVinoDevice, RandomPlansGiveTheResultOfTheReference", "[openvino]") {
  const auto machine = MakeMachine();
  const auto graph = Branches();
  const std::vector<float> expected = RunOn(*SessionOn(*machine, graph, AllOn(*graph, machine->platform(), "cpu[0]")));
  for (uint32_t seed = 1; seed <= testing::Rounds(20); ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const std::vector<UnitId> units = testing::RandomUnits(*graph, machine->platform(), random);
    const auto session = SessionOn(*machine, graph, units);
    SessionOptions sequential;
    sequential.sequential = true;
    const auto twin = SessionOn(*machine, graph, units, sequential);
    for (int run = 0; run < 3; ++run) {
      const std::vector<float> actual = RunOn(*session);
      REQUIRE(actual.size() == expected.size());
      for (size_t i = 0; i < actual.size(); ++i) REQUIRE(std::abs(actual[i] - expected[i]) < 1e-4F);
      CHECK(actual == RunOn(*twin));
    }
  }
}

TEST_CASE("OpenVinoDevice, CancelledRunsLeaveTheSessionUsable", "[openvino]") {
  const auto machine = MakeMachine();
  const auto graph = Branches();
  const auto session = SessionOn(*machine, graph, AllOn(*graph, machine->platform(), "openvino:CPU#0"));
  const std::vector<float> expected = RunOn(*session);
  std::vector<Buffer> inputs = testing::MakeBuffers(*graph, graph->inputs(), -1);
  std::vector<Buffer> outputs = testing::MakeBuffers(*graph, graph->outputs(), 0);
  for (int64_t deadline_us = 0; deadline_us < 300; deadline_us += 20) {
    RunOptions options;
    options.deadline = std::chrono::microseconds(deadline_us);
    const auto report = session->Run(testing::Lend(inputs), testing::Lend(outputs), options);
    // Whether it was over in time is the machine's affair.
    if (!report.ok()) CHECK(report.error().code == ErrorCode::kRunFailed);
    CHECK(RunOn(*session) == expected);
  }
}

TEST_CASE("OpenVinoDevice, GroupsAreOfferedByTheRulesOfTheDevice", "[openvino]") {
  const auto machine = MakeMachine();
  const auto graph = Branches();
  Platform platform = machine->platform();
  const auto offered = [&](const Precision& precision) {
    size_t count = 0;
    for (const Candidate& candidate : EnumerateCandidates(*graph, platform, machine->libraries(), precision)) {
      if (IsHost(platform.unit_class(candidate.unit_class).device)) continue;
      CHECK(candidate.library == "openvino");
      CHECK(candidate.math == MathOf(platform.device(DeviceId(1u))));
      ++count;
    }
    return count;
  };
  const size_t all = offered(Precision());
  CHECK(all > graph->nodes().size());
  platform.devices[1].calls.operators = {"Conv", "Relu"};
  const size_t few = offered(Precision());
  CHECK(few > 0);
  CHECK(few < all);
  platform.devices[1].calls.least_flops = 1e12;
  CHECK(offered(Precision()) == 0);
  platform.devices[1].calls = {};
  platform.devices[1].calls.math = "fp16";
  CHECK(offered(Precision()) == 0);
  CHECK(offered(Precision({MathMode::kFp16})) == all);
}

// A processor without float16 computes in float32 where it is asked for float16: no plan may say fp16 then.
TEST_CASE("OpenVinoDevice, AnotherPrecisionThanIsStatedIsRefusedOrComputed", "[openvino]") {
  const auto runtime = RuntimeForTests();
  const Graph graph =
      LoadCase({"", "input x float32[4,64]\nconst w float32[64,8] random 3\ny = MatMul(x, w)\noutput y\n"});
  const auto model = runtime->Read(graph);
  REQUIRE(model.ok());
  auto compiled = runtime->Compile(*model, {"CPU", MathMode::kFp16, 0, 1});
  if (compiled.ok()) {
    CHECK(compiled->get_property(ov::hint::inference_precision) == ov::element::f16);
  } else {
    CHECK(compiled.error().code == ErrorCode::kUnsupported);
  }
  CHECK(runtime->Compile(*model, {"CPU", MathMode::kFp32, 0, 1}).ok());
}

TEST_CASE("OpenVinoDevice, FilesSayWhatIsADeviceAndWhatIsWrongWithThem", "[openvino]") {
  const auto runtime = RuntimeForTests();
  const Platform host = testing::MakeTestPlatform(2, false);
  Platform platform = host;
  REQUIRE(Describe(*runtime, {kCpuAsDevice}, platform).ok());
  const Device& device = platform.devices.back();
  CHECK(device.name == "openvino:CPU");
  CHECK(device.kind == "openvino");
  CHECK(OvNameOf(device) == "CPU");
  CHECK(device.fingerprint.find(Runtime::Version()) != std::string::npos);
  CHECK(device.calls.islands);
  CHECK(UnitsOf(platform, FindUnitClass(platform, "openvino:CPU")).size() == 2);
  struct Row {
    std::vector<std::string> files;
    const char* says;
  };
  for (const Row& row : std::vector<Row>{
           {{kCpuAsDevice, kCpuAsDevice}, "described twice"},
           {{R"({"version": 2, "kind": "openvino", "device": "CPU"})"}, "version 2 is unknown"},
           {{R"({"version": 1, "kind": "openvino", "device": "XPU"})"}, "finds no device XPU"},
           {{R"({"version": 1, "kind": "openvino", "device": "CPU", "requests": 0})"}, "requests must be 1 to"},
           {{R"({"version": 1, "kind": "openvino", "device": "CPU", "streams": 2})"}, "unknown key 'streams'"},
           {{R"({"version": 1, "kind": "openvino", "device": "CPU", "calls": {"math": "fp8"}})"}, "fp8"}}) {
    INFO(row.says);
    Platform attempt = host;
    const Status status = Describe(*runtime, row.files, attempt);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().message.find(row.says) != std::string::npos);
    CHECK(attempt.devices.size() == host.devices.size());
  }
}

}  // namespace pt::openvino
