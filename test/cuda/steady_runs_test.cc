// What a run asks of the driver once everything is recorded: call by call, since each costs the host and the device's
// front end about a microsecond behind every run.
#include <catch2/catch_test_macros.hpp>

#include "test/allocations/hook.h"
#include "test/cuda/cuda_machine.h"

// Sanitizers bring an operator new of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PT_COUNTS_ALLOCATIONS 0
#else
#define PT_COUNTS_ALLOCATIONS 1
#endif

namespace pt::testing::steady_runs_test {
namespace {

using Calls = std::vector<std::string>;

// Four branches of two nodes each, and their sum.
constexpr const char* kFourBranches =
    "input x float32[64]\n"
    "s = Relu(x) : float32[64]\n"
    "a0 = Exp(s) : float32[64]\n"
    "b0 = Neg(s) : float32[64]\n"
    "c0 = Tanh(s) : float32[64]\n"
    "d0 = Abs(s) : float32[64]\n"
    "a1 = Neg(a0) : float32[64]\n"
    "b1 = Exp(b0) : float32[64]\n"
    "c1 = Abs(c0) : float32[64]\n"
    "d1 = Tanh(d0) : float32[64]\n"
    "ab = Add(a1, b1) : float32[64]\n"
    "cd = Add(c1, d1) : float32[64]\n"
    "y = Add(ab, cd) : float32[64]\n"
    "output y\n";
const std::vector<const char*> kFourStreams = {"cuda:0#0", "cuda:0#0", "cuda:0#1", "cuda:0#2", "cuda:0#3", "cuda:0#0",
                                               "cuda:0#1", "cuda:0#2", "cuda:0#3", "cuda:0#0", "cuda:0#2", "cuda:0#0"};

// The calls of a run after two others, without the numbers of streams and events. The run is right.
Calls SteadyCalls(const std::vector<const char*>& units) {
  const CudaLab lab;
  const CudaMachine machine(lab, kFourBranches);
  FakeGpu gpu = lab.gpu;
  const auto session = machine.Create(machine.PlanOn(units));
  for (int run = 0; run < 2; ++run) CHECK(FaultOf(*session, static_cast<float>(run)) == "");
  gpu.TakeCalls();
  CHECK(FaultOf(*session, 2) == "");
  Calls calls = gpu.TakeCalls();
  for (std::string& call : calls) call = call.substr(0, call.find(' '));
  CHECK(gpu.Violations().empty());
  return calls;
}

}  // namespace

TEST_CASE("CudaSteadyRuns, FourStreamsAreOneLaunchAndOneEvent", "[cuda]") {
  CHECK(SteadyCalls(kFourStreams) == Calls{"cuGraphLaunch", "cuEventRecord"});
}

TEST_CASE("CudaSteadyRuns, AStepOfTheHostInBetweenMakesTwoSegmentsOfOneEventEach", "[cuda]") {
  std::vector<const char*> units = kFourStreams;
  units[9] = "cpu[0]";  // the sum of the first two branches
  // What the host makes is copied between the two.
  CHECK(SteadyCalls(units) == Calls{"cuGraphLaunch", "cuEventRecord", "cuMemcpyHtoDAsync", "cuEventRecord",
                                    "cuStreamWaitEvent", "cuGraphLaunch", "cuEventRecord"});
}

// An event is whatever was launched or recorded last.
TEST_CASE("CudaSteadyRuns, AnEventOfTwoExecutablesStandsForTheLastThatWasLaunched", "[cuda]") {
  const CudaLab lab;
  FakeGpu gpu = lab.gpu;
  const auto driver = lab.MakeDriver();
  const auto stream = driver->MakeStream().value(), other = driver->MakeStream().value();
  const auto event = driver->MakeUntimedEvent().value();
  const auto capture = [&] {
    CHECK(stream->BeginCapture().ok());
    CHECK(stream->Record(*event).ok());
    return stream->EndCapture().value();
  };
  const auto first = capture(), second = capture();
  int done = 0;
  const auto work = [&done] { return ++done, true; };
  const auto handle = [](Stream& of) { return cuda::AsCuda(of)->handle(); };
  for (Executable* executable : {first.get(), second.get(), first.get()}) {
    gpu.Enqueue(handle(*other), work);
    CHECK(executable->Launch(*other).ok());
    const int before = done;
    CHECK_FALSE(event->Ready().value());
    while (!event->Ready().value()) continue;
    CHECK(done == before + 1);
  }
  CHECK(first->Launch(*stream).ok());
  gpu.Enqueue(handle(*other), work);
  CHECK(other->Record(*event).ok());
  while (!event->Ready().value()) continue;
  CHECK(done == 4);
}

TEST_CASE("CudaSteadyRuns, OnlyEventsThatKeepTimeAreTimedByTheDevice", "[cuda]") {
  const CudaLab lab;
  const auto driver = lab.MakeDriver();
  const auto stream = driver->MakeStream().value();
  const auto finish = [&] { CHECK(stream->Synchronize(std::chrono::hours(1)).value()); };
  const auto untimed = driver->MakeUntimedEvent().value();
  const auto begin = driver->MakeEvent().value(), end = driver->MakeEvent().value();
  CHECK(stream->Record(*begin).ok());
  CHECK(stream->Record(*untimed).ok());
  finish();
  CHECK(untimed->ElapsedNs(*begin).error().id == "cuda.untimed");
  CHECK(begin->ElapsedNs(*untimed).error().code == ErrorCode::kUsage);
  // One of a recording that keeps time makes the end of it do so.
  CHECK(stream->BeginCapture().ok());
  CHECK(stream->Record(*untimed).ok());
  CHECK(stream->Record(*end).ok());
  const auto executable = stream->EndCapture().value();
  CHECK(executable->Launch(*stream).ok());
  finish();
  CHECK(end->ElapsedNs(*begin).value() > 0);
}

#if PT_COUNTS_ALLOCATIONS
// The fake notes what it is asked, which allocates: while `silent`, launches, records and questions do nothing.
TEST_CASE("CudaSteadyRuns, AllocateNothing", "[cuda]") {
  const CudaLab fake;
  bool silent = false;
  auto functions = std::make_shared<cuda::Functions>(*fake.functions);
  const cuda::DriverFunctions& inner = fake.functions->driver;
  functions->driver.cuGraphLaunch = [&](CUgraphExec graph, CUstream stream) {
    return silent ? CUDA_SUCCESS : inner.cuGraphLaunch(graph, stream);
  };
  functions->driver.cuEventRecord = [&](CUevent event, CUstream stream) {
    return silent ? CUDA_SUCCESS : inner.cuEventRecord(event, stream);
  };
  functions->driver.cuEventQuery = [&](CUevent event) { return silent ? CUDA_SUCCESS : inner.cuEventQuery(event); };
  const GpuLab lab(functions, MakeTestPlatform(2, false));
  const CudaMachine machine(lab, kFourBranches);
  const auto session = machine.Create(machine.PlanOn(kFourStreams));
  std::vector<Buffer> inputs = MakeBuffers(*machine.graph, machine.graph->inputs(), 1);
  std::vector<Buffer> outputs = MakeBuffers(*machine.graph, machine.graph->outputs(), 0);
  const std::vector<LentTensor> in = Lend(inputs), out = Lend(outputs);
  for (int run = 0; run < 2; ++run) REQUIRE(session->Run(in, out).ok());
  silent = true;
  bool ok = session->Run(in, out).ok();
  const int64_t warm = AllocationsMade();
  for (int run = 0; run < 20; ++run) ok = session->Run(in, out).ok() && ok;
  const int64_t made = AllocationsMade() - warm;
  silent = false;
  CHECK(ok);
  CHECK(made == 0);
}
#endif

}  // namespace pt::testing::steady_runs_test
