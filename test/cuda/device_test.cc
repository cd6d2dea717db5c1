// A CUDA device on the fake GPU: memory, streams, events, copies, captures, and what happens when it fails.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <numeric>

#include "test/cuda/cuda_lab.h"

namespace pt::testing::device_test {
namespace {

constexpr std::chrono::hours kLong{1};  // machines are stopped now and then
constexpr CopyDirection kIn = CopyDirection::kToDevice, kOut = CopyDirection::kFromDevice;

// What tests of streams need, from one driver.
struct Bench : CudaLab {
  explicit Bench(const FakeGpuOptions& options = {}) : CudaLab(options), driver(MakeDriver()) { gpu.TakeCalls(); }
  ~Bench() { CHECK(gpu.Violations().empty()); }

  std::unique_ptr<Stream> MakeStream() const { return driver->MakeStream().value(); }
  std::unique_ptr<Event> MakeEvent() const { return driver->MakeEvent().value(); }
  std::unique_ptr<DeviceBuffer> OnDevice(uint64_t bytes) const { return driver->Allocate(bytes).value(); }
  // Pinned, filled with first, first + 1, …
  std::unique_ptr<DeviceBuffer> OnHost(uint64_t bytes, int first = 0) const {
    auto buffer = driver->AllocateHost(bytes).value();
    std::iota(static_cast<uint8_t*>(buffer->data()), static_cast<uint8_t*>(buffer->data()) + bytes,
              static_cast<uint8_t>(first));
    return buffer;
  }
  Status Copy(Stream& stream, DeviceBuffer& to, DeviceBuffer& from, CopyDirection direction) const {
    return driver->EnqueueCopy(stream, to.data(), from.data(), from.bytes(), direction, kHostDevice);
  }
  static bool AreEqual(DeviceBuffer& a, DeviceBuffer& b) { return std::memcmp(a.data(), b.data(), a.bytes()) == 0; }

  std::unique_ptr<cuda::CudaDriver> driver;
};

}  // namespace

TEST_CASE("CudaDevice, GivesBackAllItTook", "[cuda]") {
  FakeGpu gpu;
  {
    const CudaLab lab;
    gpu = lab.gpu;
    const auto driver = lab.MakeDriver();
    const auto buffer = driver->Allocate(100).value();
    const auto pinned = driver->AllocateHost(100).value();
    const auto nothing = driver->Allocate(0).value();
    CHECK(nothing->data() == nullptr);
    CHECK(nothing->bytes() == 0);
    const auto stream = driver->MakeStream().value();
    const auto event = driver->MakeEvent().value();
    CHECK(gpu.Alive() == "2 streams, 2 events, 1 buffers, 1 pinned buffers, 1 pools");
  }
  CHECK(gpu.Alive() == "");
  CHECK(gpu.Violations().empty());
}

TEST_CASE("CudaDevice, ThingsOutliveItsDriver", "[cuda]") {
  Bench bench;
  auto buffer = bench.OnDevice(64);
  auto stream = bench.MakeStream();
  auto event = bench.MakeEvent();
  bench.driver.reset();
  CHECK(stream->Record(*event).ok());
  CHECK(stream->Synchronize(kLong).value());
  buffer.reset();
  event.reset();
  stream.reset();
  CHECK(bench.gpu.Alive() == "");
}

// Libraries that stay loaded keep state in it, and it takes long to make.
TEST_CASE("CudaDevice, ItsPrimaryContextStaysWhenItsDriverGoes", "[cuda]") {
  const CudaLab lab;
  CHECK_FALSE(lab.gpu.HasContext());
  for (int machine = 0; machine < 2; ++machine) {
    lab.MakeDriver();
    CHECK(lab.gpu.HasContext());
    CHECK(lab.gpu.Alive() == "");
  }
  CHECK(lab.gpu.Violations().empty());
}

TEST_CASE("CudaDevice, OutOfMemoryIsTypedAndTellsTheSize", "[cuda]") {
  Bench bench({.memory_bytes = 1000});
  const auto first = bench.OnDevice(600);
  const auto second = bench.driver->Allocate(600);
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code == ErrorCode::kOutOfMemory);
  CHECK(second.error().id == "cuda.memory");
  CHECK(second.error().device == "cuda:0");
  CHECK(second.error().message.find("600 bytes") != std::string::npos);
  bench.gpu.FailNext("cuMemHostAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  const auto pinned = bench.driver->AllocateHost(77);
  REQUIRE_FALSE(pinned.ok());
  CHECK(pinned.error().code == ErrorCode::kOutOfMemory);
  CHECK(bench.driver->Allocate(300).ok());  // the device is as usable as before
}

TEST_CASE("CudaDevice, CopiesInEachDirection", "[cuda]") {
  Bench bench;
  const auto stream = bench.MakeStream();
  const auto from = bench.OnHost(1000), to = bench.OnHost(1000, 7);
  const auto there = bench.OnDevice(1000), elsewhere = bench.OnDevice(1000);
  bench.gpu.TakeCalls();
  CHECK(bench.Copy(*stream, *there, *from, kIn).ok());
  CHECK(bench.Copy(*stream, *elsewhere, *there, CopyDirection::kWithin).ok());
  CHECK(bench.Copy(*stream, *to, *elsewhere, kOut).ok());
  CHECK_FALSE(Bench::AreEqual(*to, *from));  // nothing is done before somebody waits
  CHECK(stream->Synchronize(kLong).value());
  CHECK(Bench::AreEqual(*to, *from));
  CHECK(bench.gpu.TakeCalls() == std::vector<std::string>{"cuMemcpyHtoDAsync stream 1 1000",
                                                          "cuMemcpyDtoDAsync stream 1 1000",
                                                          "cuMemcpyDtoHAsync stream 1 1000"});
  const Status elsewhere_copied =
      bench.driver->EnqueueCopy(*stream, there->data(), from->data(), 10, kIn, DeviceId(7u));
  REQUIRE_FALSE(elsewhere_copied.ok());
  CHECK(elsewhere_copied.error().id == "cuda.link");
  CHECK(bench.driver->EnqueueCopy(*stream, nullptr, nullptr, 0, kIn, kHostDevice).ok());
}

TEST_CASE("CudaDevice, AStreamWaitsForAnEventAndNoLonger", "[cuda]") {
  Bench bench;  // runs the newest work first: without the wait the copy out would come first
  const auto in = bench.MakeStream(), out = bench.MakeStream();
  const auto arrived = bench.MakeEvent(), never = bench.MakeEvent();
  const auto from = bench.OnHost(64), to = bench.OnHost(64, 9);
  const auto there = bench.OnDevice(64);
  CHECK(bench.Copy(*in, *there, *from, kIn).ok());
  CHECK(in->Record(*arrived).ok());
  CHECK_FALSE(arrived->Ready().value());
  CHECK(out->Wait(*never).ok());  // never recorded: no wait
  CHECK(out->Wait(*arrived).ok());
  CHECK(bench.Copy(*out, *to, *there, kOut).ok());
  CHECK(out->Synchronize(kLong).value());
  CHECK(arrived->Ready().value());
  CHECK(Bench::AreEqual(*to, *from));
}

TEST_CASE("CudaDevice, EventsTellTheDevicesTime", "[cuda]") {
  Bench bench;
  const auto stream = bench.MakeStream();
  const auto begin = bench.MakeEvent(), end = bench.MakeEvent();
  const auto from = bench.OnHost(64), there = bench.OnDevice(64);
  CHECK(stream->Record(*begin).ok());
  CHECK(end->ElapsedNs(*begin).error().id == "cuda.not_ready");
  CHECK(bench.Copy(*stream, *there, *from, kIn).ok());
  CHECK(stream->Record(*end).ok());
  CHECK(end->ElapsedNs(*begin).error().code == ErrorCode::kUsage);
  CHECK(stream->Synchronize(kLong).value());
  CHECK(end->ElapsedNs(*begin).value() == 2000);  // the fake takes a microsecond for each piece of work
  CHECK(begin->ElapsedNs(*end).value() == -2000);
}

TEST_CASE("CudaDevice, SynchronizeGivesUpWhenItsPatienceEnds", "[cuda]") {
  Bench bench;
  const auto stream = bench.MakeStream();
  const auto event = bench.MakeEvent();
  bench.gpu.Stall(true);
  CHECK(stream->Record(*event).ok());
  stream->Revoke();
  CHECK_FALSE(stream->Synchronize(std::chrono::milliseconds(1)).value());
  bench.gpu.Stall(false);
  CHECK(stream->Synchronize(kLong).value());
}

TEST_CASE("CudaDevice, StreamsAndEventsOfAnotherDeviceAreRefused", "[cuda]") {
  Bench bench, other;
  const auto stream = bench.MakeStream(), others_stream = other.MakeStream();
  const auto event = bench.MakeEvent(), others_event = other.MakeEvent();
  for (const Status& status : {stream->Record(*others_event),
                               bench.driver->EnqueueCopy(*others_stream, nullptr, nullptr, 0, kIn, kHostDevice)}) {
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().id == "cuda.other_device");
  }
  CHECK(event->ElapsedNs(*others_event).error().id == "cuda.other_device");
}

TEST_CASE("CudaDevice, AFaultLosesItAndAllOfItCanStillBeDestroyed", "[cuda]") {
  Bench bench;
  auto stream = bench.MakeStream();
  auto event = bench.MakeEvent();
  auto buffer = bench.OnDevice(64);
  const auto program = bench.driver->programs().Get("extern \"C\" __global__ void pt_kernel(const Arguments a) {}\n");
  if (!program.ok()) FAIL(ToString(program.error()));
  bench.gpu.FaultNextKernel();
  CHECK((*program)->Launch(*cuda::AsCuda(*stream), 1, 1, {}).ok());
  CHECK(stream->Record(*event).ok());
  const auto idle = stream->Synchronize(kLong);
  REQUIRE_FALSE(idle.ok());
  CHECK(idle.error().code == ErrorCode::kRunFailed);
  CHECK(idle.error().id == "cuda.lost");
  CHECK(idle.error().message.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
  CHECK(event->Ready().error().id == "cuda.lost");
  CHECK(bench.driver->Allocate(64).error().id == "cuda.lost");
  CHECK(bench.driver->MakeStream().error().id == "cuda.lost");
  CHECK(stream->Record(*event).error().id == "cuda.lost");
}

TEST_CASE("CudaCapture, ForksAndJoinsBecomeOneGraph", "[cuda]") {
  Bench bench;
  const auto origin = bench.MakeStream(), side = bench.MakeStream();
  const auto fork = bench.MakeEvent(), join = bench.MakeEvent();
  const auto from = bench.OnHost(64), to = bench.OnHost(64, 5);
  const auto there = bench.OnDevice(64);
  bench.gpu.TakeCalls();
  CHECK(origin->BeginCapture().ok());
  CHECK(bench.Copy(*origin, *there, *from, kIn).ok());
  CHECK(origin->Record(*fork).ok());
  CHECK(side->Wait(*fork).ok());
  CHECK(bench.Copy(*side, *to, *there, kOut).ok());
  CHECK(side->Record(*join).ok());
  CHECK(origin->Wait(*join).ok());
  const auto executable = origin->EndCapture().value();
  // Each of our events is two of CUDA's: recordings use the second.
  CHECK(bench.gpu.TakeCalls() ==
        std::vector<std::string>{"cuStreamBeginCapture stream 1", "cuMemcpyHtoDAsync stream 1 64",
                                 "cuEventRecord stream 1 event 1", "cuStreamWaitEvent stream 2 event 1",
                                 "cuMemcpyDtoHAsync stream 2 64", "cuEventRecord stream 2 event 3",
                                 "cuStreamWaitEvent stream 1 event 3", "cuStreamEndCapture stream 1",
                                 "cuGraphInstantiate 2", "cuGraphDestroy", "cuEventCreate"});
  CHECK_FALSE(Bench::AreEqual(*to, *from));
  for (int run = 0; run < 2; ++run) {
    std::memset(to->data(), 0, 64);
    CHECK(executable->Launch(*origin).ok());
    CHECK_FALSE(join->Ready().value());  // recorded anew by every launch, and not ready before it is over
    CHECK(side->Wait(*join).ok());
    CHECK(side->Synchronize(kLong).value());
    CHECK(join->Ready().value());
    CHECK(Bench::AreEqual(*to, *from));
  }
}

TEST_CASE("CudaCapture, BrokenRulesAreErrorsAndTheStreamIsUsableAgain", "[cuda]") {
  Bench bench;
  const auto origin = bench.MakeStream(), side = bench.MakeStream();
  const auto fork = bench.MakeEvent(), outside = bench.MakeEvent();
  const auto from = bench.OnHost(64), there = bench.OnDevice(64);
  CHECK(origin->EndCapture().error().id == "cuda.capture");
  CHECK(side->Record(*outside).ok());
  CHECK(origin->BeginCapture().ok());
  CHECK(origin->BeginCapture().error().id == "cuda.capture");
  CHECK(origin->Wait(*outside).error().id == "cuda.capture");
  CHECK(origin->Record(*fork).ok());
  CHECK(side->Wait(*fork).ok());
  CHECK(bench.Copy(*side, *there, *from, kIn).ok());
  const auto unjoined = origin->EndCapture();
  REQUIRE_FALSE(unjoined.ok());
  CHECK(unjoined.error().code == ErrorCode::kUsage);
  CHECK(unjoined.error().id == "cuda.capture");
  for (Stream* stream : {origin.get(), side.get()}) {
    CHECK(bench.Copy(*stream, *there, *from, kIn).ok());
    CHECK(stream->Synchronize(kLong).value());
  }
  CHECK(origin->BeginCapture().ok());
  CHECK(bench.Copy(*origin, *there, *from, kIn).ok());
  CHECK(origin->EndCapture().ok());
}

TEST_CASE("CudaPrograms, TheSameTextIsCompiledOnceAndUnloadedWithItsLastUser", "[cuda]") {
  Bench bench;
  const std::string text = "extern \"C\" __global__ void pt_kernel(const Arguments a) {}\n";
  auto first = bench.driver->programs().Get(text).value();
  auto second = bench.driver->programs().Get(text).value();
  CHECK(first == second);
  CHECK(bench.gpu.compiled() == 1);
  first.reset();
  second.reset();
  CHECK(bench.gpu.Count("cuModuleUnload") == 1);
  CHECK(bench.driver->programs().Get(text).ok());
  CHECK(bench.gpu.compiled() == 2);
}

TEST_CASE("CudaPrograms, ADeviceThatTheCompilerDoesNotKnowGetsPtxOfTheNewestThatItDoes", "[cuda]") {
  const std::string text = "extern \"C\" __global__ void pt_kernel(const Arguments a) {}\n";
  Bench bench({.architecture = 130});
  const auto program = bench.driver->programs().Get(text);
  if (!program.ok()) FAIL(ToString(program.error()));
  CHECK(bench.gpu.compiled() == 1);
  // One between two that it knows, and one before all of them.
  const FakeGpuOptions between{.architecture = 101, .compiled_for = {90, 100, 120}};
  CHECK(Bench(between).driver->programs().Get(text).ok());
  const Bench before({.architecture = 80, .compiled_for = {90, 100}});
  const auto refused = before.driver->programs().Get(text);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().id == "cuda.compile");
  CHECK(refused.error().message.find("sm_80") != std::string::npos);
}

TEST_CASE("CudaDevice, NvmlTellsClocksTemperatureAndWhyItIsThrottled", "[cuda]") {
  CudaLab lab;
  const auto driver = lab.MakeDriver();
  CHECK(lab.gpu.Count("nvmlInit_v2") == 0);  // not before somebody asks
  CHECK(driver->State() == DeviceState{1980, 2619, 40, {}});
  lab.gpu.SetState(1410, 2500, 83,
                   nvmlClocksThrottleReasonSwPowerCap | nvmlClocksThrottleReasonSwThermalSlowdown | 0x1);
  CHECK(driver->State() == DeviceState{1410, 2500, 83, {"power cap", "too warm"}});
  CHECK(lab.gpu.Count("nvmlInit_v2") == 1);
}

TEST_CASE("CudaDevice, WithoutNvmlOrUnknownToItTheStateIsNotKnown", "[cuda]") {
  const CudaLab without({.management = false});
  CHECK_FALSE(without.MakeDriver()->State().has_value());
  const CudaLab two({.devices = 2});  // the fake NVML knows the first alone
  const auto second = cuda::CudaDriver::Make(two.functions, two.platform, FindDevice(two.platform, "cuda:1"));
  REQUIRE(second.ok());
  CHECK_FALSE((*second)->State().has_value());
}

}  // namespace pt::testing::device_test
