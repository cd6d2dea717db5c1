// Whole runs on a CUDA device: plans with copies, several streams, captures and failures, against the reference
// library.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <thread>

#include "lib/exec/lost_devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/cuda/cuda_lab.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing {
namespace {

// a, then two branches, then their sum.
constexpr const char* kDiamond =
    "input x float32[64]\n"
    "a = Relu(x) : float32[64]\n"
    "l = Exp(a) : float32[64]\n"
    "r = Neg(a) : float32[64]\n"
    "y = Add(l, r) : float32[64]\n"
    "output y\n";

struct Setting : CudaLab {
  explicit Setting(const std::string& text, const FakeGpuOptions& options = {}) : CudaLab(options) {
    graph = std::make_shared<const Graph>(ParseGraph(text).value());
    std::vector<std::unique_ptr<DeviceDriver>> drivers;
    drivers.push_back(MakeHostDriver(kHostDevice));
    drivers.push_back(MakeDriver());
    std::vector<std::unique_ptr<Library>> libraries;
    libraries.push_back(MakeReferenceLibrary());
    libraries.push_back(cuda::MakeOwnKernelsLibrary());
    auto made = Machine::Assemble(platform, std::move(drivers), std::move(libraries));
    if (!made.ok()) FAIL(ToString(made.error()));
    machine = std::move(made).value();
  }

  Plan PlanOn(const std::vector<const char*>& units) const {
    std::vector<UnitId> ids;
    for (const char* unit : units) ids.push_back(FindUnit(machine->platform(), unit));
    return MakeTestPlan(*graph, *machine, ids);
  }
  std::unique_ptr<Session> Create(const Plan& plan, const SessionOptions& options = {}) const {
    auto session = Session::Create(graph, plan, *machine, options);
    if (!session.ok()) FAIL(ToString(session.error()));
    return std::move(session).value();
  }

  std::unique_ptr<Machine> machine;
  std::shared_ptr<const Graph> graph;
};

Result<RunReport> RunOnce(Session& session, std::vector<Buffer>& inputs, std::vector<Buffer>& outputs,
                          const RunOptions& options = {}) {
  return session.Run(Lend(inputs), Lend(outputs), options);
}

// "" when the session's outputs are the reference library's.
std::string Fault(Session& session, float start, const RunOptions& options = {}) {
  const Graph& graph = session.graph();
  std::vector<Buffer> inputs = MakeBuffers(graph, graph.inputs(), start);
  std::vector<Buffer> outputs = MakeBuffers(graph, graph.outputs(), -1000);
  std::vector<Tensor> tensors;
  for (Buffer& buffer : inputs) {
    for (float& number : buffer.data) number = 0.01F * number - 0.5F;  // for Exp
    tensors.push_back(Tensor::Float32(buffer.dims, buffer.data));
  }
  const Result<RunReport> report = RunOnce(session, inputs, outputs, options);
  if (!report.ok()) return ToString(report.error());
  const std::vector<Tensor> expected = RunOnReference(graph, tensors);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string difference = Difference(Tensor::Float32(outputs[i].dims, outputs[i].data), expected[i], 1e-5);
    if (!difference.empty()) return difference;
  }
  return "";
}

// A random graph of operators that both libraries have. What nobody reads is an output.
std::string RandomGraph(std::mt19937& random, size_t nodes) {
  std::string text = "input v0 float32[48]\ninput v1 float32[48]\n";
  std::vector<bool> is_read(nodes + 2, false);
  for (size_t n = 2; n < nodes + 2; ++n) {
    const auto earlier = [&] {
      const size_t value = random() % n;
      is_read[value] = true;
      return "v" + std::to_string(value);
    };
    static const char* const unary[] = {"Relu", "Tanh", "Sigmoid", "Abs"};
    static const char* const binary[] = {"Add", "Max", "Sub"};
    text += "v" + std::to_string(n) + " = ";
    if (random() % 2 == 0) {
      text += std::string(unary[random() % 4]) + "(" + earlier() + ")";
    } else {
      const std::string first = earlier();
      text += std::string(binary[random() % 3]) + "(" + first + ", " + earlier() + ")";
    }
    text += " : float32[48]\n";
  }
  for (size_t n = 2; n < nodes + 2; ++n) {
    if (!is_read[n]) text += "output v" + std::to_string(n) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("CudaSession, BranchesOnTwoStreamsGiveTheReferencesResult", "[cuda]") {
  const bool capture = GENERATE(true, false);
  const bool newest_first = GENERATE(true, false);
  CAPTURE(capture, newest_first);
  Setting setting(kDiamond, {.newest_first = newest_first});
  {
    const auto session =
        setting.Create(setting.PlanOn({"cuda:0#0", "cuda:0#0", "cuda:0#1", "cuda:0#0"}), {.capture = capture});
    setting.gpu.TakeCalls();
    for (int run = 0; run < 3; ++run) CHECK(Fault(*session, static_cast<float>(run)) == "");
    CHECK(setting.gpu.Count("cuGraphLaunch") == (capture ? 3 : 0));
    CHECK(setting.gpu.Count("cuStreamBeginCapture") == (capture ? 1 : 0));
    CHECK(setting.gpu.Count("cuLaunchKernel") == (capture ? 4 : 12));
    Trace trace;
    CHECK(Fault(*session, 1, {.trace = &trace}) == "");
    for (const TraceEvent& event : trace.events) CHECK(event.end_ns >= event.start_ns);
  }
  setting.machine.reset();
  CHECK(setting.gpu.Alive() == "");
  CHECK(setting.gpu.Violations().empty());
}

TEST_CASE("CudaSession, RandomPlansAcrossHostAndDeviceAgreeWithTheReference", "[cuda]") {
  const auto seed = GENERATE(range(1u, 7u));
  const bool newest_first = GENERATE(true, false);
  CAPTURE(seed, newest_first);
  std::mt19937 random(seed);
  Setting setting(RandomGraph(random, 24), {.newest_first = newest_first});
  std::vector<const char*> units;
  static const char* const all[] = {"cpu[0]", "cpu[1]", "cuda:0#0", "cuda:0#1", "cuda:0#2"};
  for (size_t n = 0; n < setting.graph->nodes().size(); ++n) units.push_back(all[random() % 5]);
  const Plan plan = setting.PlanOn(units);
  const auto session = setting.Create(plan), single = setting.Create(plan, {.capture = false}),
             twin = setting.Create(plan, {.sequential = true});
  for (int run = 0; run < 2; ++run) {
    CHECK(Fault(*session, static_cast<float>(run)) == "");
    CHECK(Fault(*single, static_cast<float>(run)) == "");
    CHECK(Fault(*twin, static_cast<float>(run)) == "");
  }
  CHECK(setting.gpu.Violations().empty());
}

TEST_CASE("CudaSession, AFaultingKernelIsATypedErrorAndAllIsDestroyable", "[cuda]") {
  const bool capture = GENERATE(true, false);
  CAPTURE(capture);
  Setting setting(kDiamond);
  {
    const auto session =
        setting.Create(setting.PlanOn({"cuda:0#0", "cuda:0#0", "cuda:0#1", "cuda:0#0"}), {.capture = capture});
    CHECK(Fault(*session, 1) == "");
    setting.gpu.FaultNextKernel();
    for (int run = 0; run < 2; ++run) {
      std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 1);
      std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
      const auto report = RunOnce(*session, inputs, outputs);
      REQUIRE_FALSE(report.ok());
      CHECK(report.error().code == ErrorCode::kRunFailed);
      CHECK(report.error().id == "cuda.lost");
    }
  }
  setting.machine.reset();
  CHECK(setting.gpu.Alive() == "");
}

TEST_CASE("CudaSession, OutOfDeviceMemoryIsTypedAndTheNextSessionIsRight", "[cuda]") {
  const Setting setting(kDiamond);
  const Plan plan = setting.PlanOn({"cuda:0#0", "cuda:0#0", "cuda:0#1", "cuda:0#0"});
  FakeGpu gpu = setting.gpu;
  gpu.FailNext("cuMemAllocFromPoolAsync", CUDA_ERROR_OUT_OF_MEMORY);
  const auto refused = Session::Create(setting.graph, plan, *setting.machine);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOutOfMemory);
  CHECK(refused.error().id == "cuda.memory");
  CHECK(Fault(*setting.Create(plan), 1) == "");
}

TEST_CASE("CudaSession, ADeviceThatHangsIsLostAndItsMemoryKept", "[cuda]") {
  Setting setting(kDiamond);
  auto session = setting.Create(setting.PlanOn({"cuda:0#0", "cuda:0#0", "cuda:0#1", "cuda:0#0"}),
                                {.device_grace = std::chrono::milliseconds(20)});
  setting.gpu.Stall(true);
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 1);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  RunOptions options;
  options.deadline = std::chrono::milliseconds(5);
  const auto report = RunOnce(*session, inputs, outputs, options);
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().id == "device.hung");
  session.reset();
  CHECK(setting.machine->lost_devices().IsAnyAtWork());
  setting.gpu.Stall(false);
  while (setting.machine->lost_devices().IsAnyAtWork()) std::this_thread::yield();
  setting.machine.reset();
  CHECK(setting.gpu.Alive() == "");
  CHECK(setting.gpu.Violations().empty());
}

}  // namespace pt::testing
