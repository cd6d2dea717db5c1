// Whole runs on a CUDA device: plans with copies, several streams, captures and failures, against the reference
// library.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <thread>

#include "lib/exec/lost_devices.h"
#include "test/cuda/cuda_machine.h"

namespace pt::testing::session_test {
namespace {

// a, then two branches, then their sum.
constexpr const char* kDiamond =
    "input x float32[64]\n"
    "a = Relu(x) : float32[64]\n"
    "l = Exp(a) : float32[64]\n"
    "r = Neg(a) : float32[64]\n"
    "y = Add(l, r) : float32[64]\n"
    "output y\n";

struct Setting : CudaLab, CudaMachine {
  explicit Setting(const std::string& text, const FakeGpuOptions& options = {})
      : CudaLab(options), CudaMachine(static_cast<const GpuLab&>(*this), text) {}
};

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
    for (int run = 0; run < 3; ++run) CHECK(FaultOf(*session, static_cast<float>(run)) == "");
    CHECK(setting.gpu.Count("cuGraphLaunch") == (capture ? 3 : 0));
    CHECK(setting.gpu.Count("cuStreamBeginCapture") == (capture ? 1 : 0));
    CHECK(setting.gpu.Count("cuLaunchKernel") == (capture ? 4 : 12));
    Trace trace;
    CHECK(FaultOf(*session, 1, {.trace = &trace}) == "");
    for (const TraceEvent& event : trace.events) CHECK(event.end_ns >= event.start_ns);
  }
  setting.machine.reset();
  CHECK(setting.gpu.Alive() == "");
  CHECK(setting.gpu.Violations().empty());
}

TEST_CASE("CudaSession, ConstantIntegersAreDequantisedOnTheDevice", "[cuda]") {
  const bool capture = GENERATE(true, false);
  CAPTURE(capture);
  const Setting setting(
      "input x float32[64]\nconst w int8[64] whole 3\nconst s float32[] value 0.043\n"
      "v = DequantizeLinear(w, s) : float32[64]\ny = Add(x, v) : float32[64]\noutput y\n");
  const auto session = setting.Create(setting.PlanOn({"cuda:0#0", "cuda:0#1"}), {.capture = capture});
  for (int run = 0; run < 3; ++run) CHECK(FaultOf(*session, static_cast<float>(run)) == "");
  CHECK(setting.gpu.Violations().empty());
}

TEST_CASE("CudaSession, RandomPlansAcrossHostAndDeviceAgreeWithTheReference", "[cuda]") {
  const auto seed = GENERATE(range(1u, 7u));
  const bool newest_first = GENERATE(true, false);
  CAPTURE(seed, newest_first);
  const CudaLab lab({.newest_first = newest_first});
  CheckRandomPlan(lab, seed);
  CHECK(lab.gpu.Violations().empty());
  CHECK(lab.gpu.Alive() == "");
}

// From any other memory a copy would hold up the core that launches it, and take longer than was measured.
TEST_CASE("CudaSession, CopiesTouchNoOtherHostMemoryThanPinned", "[cuda]") {
  const bool capture = GENERATE(true, false);
  // What the host has made and the device reads lies in an arena, or in the caller's memory where it is an output.
  const auto& [text, units] = GENERATE(
      std::pair(kDiamond, std::vector<const char*>{"cpu[0]", "cuda:0#0", "cpu[1]", "cuda:0#1"}),
      std::pair("input x float32[64]\na = Relu(x) : float32[64]\ny = Exp(a) : float32[64]\noutput a\noutput y\n",
                std::vector<const char*>{"cpu[0]", "cuda:0#0"}));
  CAPTURE(capture, text);
  const Setting setting(text);
  const auto session = setting.Create(setting.PlanOn(units), {.capture = capture});
  for (int run = 0; run < 3; ++run) CHECK(FaultOf(*session, static_cast<float>(run)) == "");
  CHECK(setting.gpu.pageable_copies() == 0);
  CHECK(setting.gpu.Violations().empty());
}

TEST_CASE("CudaSession, AFaultingKernelIsATypedErrorAndAllIsDestroyable", "[cuda]") {
  const bool capture = GENERATE(true, false);
  CAPTURE(capture);
  Setting setting(kDiamond);
  {
    const auto session =
        setting.Create(setting.PlanOn({"cuda:0#0", "cuda:0#0", "cuda:0#1", "cuda:0#0"}), {.capture = capture});
    CHECK(FaultOf(*session, 1) == "");
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

TEST_CASE("CudaSession, ASegmentThatCannotBeRecordedIsLaunchedStepByStepAndSaysSo", "[cuda]") {
  const auto& [call, code] = GENERATE(std::pair("cuStreamBeginCapture", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
                                      std::pair("cuStreamEndCapture", CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
                                      std::pair("cuGraphInstantiate", CUDA_ERROR_NOT_SUPPORTED));
  CAPTURE(call);
  const Setting setting(kDiamond);
  const auto session = setting.Create(setting.PlanOn({"cuda:0#0", "cuda:0#0", "cuda:0#1", "cuda:0#0"}));
  FakeGpu gpu = setting.gpu;
  gpu.TakeCalls();
  gpu.FailNext(call, code);
  for (int run = 0; run < 3; ++run) CHECK(FaultOf(*session, static_cast<float>(run)) == "");
  CHECK(gpu.Count("cuGraphLaunch") == 0);
  CHECK(gpu.Count("cuStreamBeginCapture") == 1);
  const CaptureReport report = session->capture();
  CHECK(report.segments == 1);
  REQUIRE(report.refused.size() == 1);
  CHECK(report.refused[0].find(call) != std::string::npos);
  CHECK(gpu.Violations().empty());
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
  CHECK(FaultOf(*setting.Create(plan), 1) == "");
}

TEST_CASE("CudaSession, ADeviceThatHangsIsLostAndItsMemoryKept", "[cuda]") {
  Setting setting(kDiamond);
  auto session = setting.Create(setting.PlanOn({"cuda:0#0", "cuda:0#0", "cuda:0#1", "cuda:0#0"}),
                                {.device_grace = std::chrono::milliseconds(20)});
  setting.gpu.Stall(true);
  std::vector<Buffer> inputs = MakeBuffers(*setting.graph, setting.graph->inputs(), 1);
  std::vector<Buffer> outputs = MakeBuffers(*setting.graph, setting.graph->outputs(), 0);
  // Cancelled once the device has work, however long that takes.
  CancelToken token;
  std::atomic<bool> over{false};
  setting.gpu.TakeCalls();
  std::thread canceller([&] {
    while (setting.gpu.Count("cuGraphLaunch") == 0 && !over) std::this_thread::yield();
    token.Cancel();
  });
  const auto report = RunOnce(*session, inputs, outputs, {.cancel = &token});
  over = true;
  canceller.join();
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

}  // namespace pt::testing::session_test
