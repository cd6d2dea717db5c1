#include "test/testing/device_checks.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/exec/judge_plan.h"
#include "test/testing/check_case.h"
#include "test/testing/rounds.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

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
  auto session = Session::Create(graph, MakeTestPlan(*graph, machine, units), machine, options);
  if (!session.ok()) FAIL(ToString(session.error()));
  return std::move(session).value();
}

std::vector<float> RunOn(Session& session, const RunOptions& options = {}) {
  std::vector<Buffer> inputs = MakeBuffers(session.graph(), session.graph().inputs(), -1);
  for (size_t i = 0; i < inputs[0].data.size(); ++i) inputs[0].data[i] = std::sin(0.37F * static_cast<float>(i));
  std::vector<Buffer> outputs = MakeBuffers(session.graph(), session.graph().outputs(), 0);
  const auto report = session.Run(Lend(inputs), Lend(outputs), options);
  if (!report.ok()) FAIL(ToString(report.error()));
  return outputs[0].data;
}

std::vector<UnitId> AllOn(const Graph& graph, const Platform& platform, const std::string& unit) {
  return std::vector<UnitId>(graph.nodes().size(), FindUnit(platform, unit));
}

}  // namespace

std::unique_ptr<Machine> MachineWith(Platform platform, std::unique_ptr<DeviceDriver> driver,
                                     std::unique_ptr<Library> library) {
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(kHostDevice));
  drivers.push_back(std::move(driver));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeReferenceLibrary());
  libraries.push_back(std::move(library));
  return Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value();
}

void CheckRandomPlansOnDevice(Machine& machine) {
  const auto graph = Branches();
  const std::vector<float> expected = RunOn(*SessionOn(machine, graph, AllOn(*graph, machine.platform(), "cpu[0]")));
  for (uint32_t seed = 1; seed <= Rounds(20); ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const std::vector<UnitId> units = RandomUnits(*graph, machine.platform(), random);
    const auto session = SessionOn(machine, graph, units);
    SessionOptions sequential;
    sequential.sequential = true;
    const auto twin = SessionOn(machine, graph, units, sequential);
    for (int run = 0; run < 3; ++run) {
      const std::vector<float> actual = RunOn(*session);
      REQUIRE(actual.size() == expected.size());
      for (size_t i = 0; i < actual.size(); ++i) REQUIRE(std::abs(actual[i] - expected[i]) < 1e-4F);
      CHECK(actual == RunOn(*twin));
    }
  }
}

void CheckCancelledRunsOnDevice(Machine& machine) {
  const auto graph = Branches();
  const auto session =
      SessionOn(machine, graph, AllOn(*graph, machine.platform(), machine.platform().devices[1].name + "#0"));
  const std::vector<float> expected = RunOn(*session);
  std::vector<Buffer> inputs = MakeBuffers(*graph, graph->inputs(), -1);
  std::vector<Buffer> outputs = MakeBuffers(*graph, graph->outputs(), 0);
  for (int64_t deadline_us = 0; deadline_us < 300; deadline_us += 20) {
    RunOptions options;
    options.deadline = std::chrono::microseconds(deadline_us);
    const auto report = session->Run(Lend(inputs), Lend(outputs), options);
    // Whether it was over in time is the machine's affair.
    if (!report.ok()) CHECK(report.error().code == ErrorCode::kRunFailed);
    CHECK(RunOn(*session) == expected);
  }
}

void CheckRulesOfDevice(const Machine& machine, const std::string& library, bool takes_fp16) {
  const auto graph = Branches();
  Platform platform = machine.platform();
  const auto offered = [&](const Precision& precision) {
    size_t count = 0;
    for (const Candidate& candidate : EnumerateCandidates(*graph, platform, machine.libraries(), precision)) {
      if (IsHost(platform.unit_class(candidate.unit_class).device)) continue;
      CHECK(candidate.library == library);
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
  CHECK(offered(Precision({MathMode::kFp16})) == (takes_fp16 ? all : 0));
}

Status Describe(const AddDescribed& add, const std::vector<std::string>& files, Platform& platform) {
  DiscoverRequest request;
  for (const std::string& text : files) {
    request.described.push_back({"device.json", ParseJson(text, "device.json").value()});
  }
  return add(request, platform);
}

void CheckRefusedFiles(const AddDescribed& add, const std::vector<RefusedFiles>& rows) {
  const Platform host = MakeTestPlatform(2, false);
  for (const RefusedFiles& row : rows) {
    INFO(row.says);
    Platform attempt = host;
    const Status status = Describe(add, row.files, attempt);
    REQUIRE_FALSE(status.ok());
    INFO(status.error().message);
    CHECK(status.error().message.find(row.says) != std::string::npos);
    CHECK(attempt.devices.size() == host.devices.size());
  }
}

}  // namespace pt::testing
