// Several CUDA devices: links between them, copies and waits from one to another without the host, and what is left
// when one of them is lost.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstring>
#include <numeric>
#include <thread>

#include "lib/exec/device_table.h"
#include "lib/exec/lost_devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/profiler/measure.h"
#include "test/cuda/cuda_machine.h"
#include "test/testing/lock_folder.h"
#include "test/testing/test_data.h"

namespace pt::testing::peer_test {
namespace {

using Calls = std::vector<std::string>;

constexpr std::chrono::hours kLong{1};  // machines are stopped now and then
constexpr const char* kChain =
    "input x float32[64]\n"
    "a = Relu(x) : float32[64]\n"
    "y = Exp(a) : float32[64]\n"
    "output y\n";

FakeGpuOptions Devices(int count) {
  FakeGpuOptions options;
  options.devices = count;
  return options;
}

FakeGpuOptions WithoutAccess(int count) {
  FakeGpuOptions options = Devices(count);
  options.can_access = [](int, int) { return false; };
  return options;
}

// "cuda:0>cuda:1", … of the links between devices, in their order.
std::vector<std::string> PeerLinks(const Platform& platform) {
  std::vector<std::string> names;
  for (const Link& link : platform.links) {
    if (IsHost(link.from) || IsHost(link.to)) continue;
    names.push_back(platform.device(link.from).name + ">" + platform.device(link.to).name);
  }
  return names;
}

// The drivers of two devices.
struct Pair : CudaLab {
  explicit Pair(const FakeGpuOptions& options = Devices(2)) : CudaLab(options) {
    for (const char* name : {"cuda:0", "cuda:1"}) {
      ids.push_back(FindDevice(platform, name));
      drivers.push_back(MakeDriver(ids.back()));
    }
    gpu.TakeCalls();
  }

  // On that device, filled with first, first + 1, …
  std::unique_ptr<DeviceBuffer> Filled(size_t device, uint64_t bytes, int first) const {
    auto there = drivers[device]->Allocate(bytes).value();
    const auto host = drivers[device]->AllocateHost(bytes).value();
    auto* const data = static_cast<uint8_t*>(host->data());
    std::iota(data, data + bytes, static_cast<uint8_t>(first));
    const auto stream = drivers[device]->MakeStream().value();
    REQUIRE(drivers[device]
                ->EnqueueCopy(*stream, there->data(), host->data(), bytes, CopyDirection::kToDevice, kHostDevice)
                .ok());
    REQUIRE(stream->Synchronize(kLong).value());
    return there;
  }
  static bool AreEqual(DeviceBuffer& a, DeviceBuffer& b) { return std::memcmp(a.data(), b.data(), a.bytes()) == 0; }

  std::vector<DeviceId> ids;
  std::vector<std::unique_ptr<cuda::CudaDriver>> drivers;
};

struct PairSetting : CudaLab, CudaMachine {
  explicit PairSetting(const std::string& text, const FakeGpuOptions& options = Devices(2))
      : CudaLab(options), CudaMachine(static_cast<const GpuLab&>(*this), text) {}
};

// The calls that move data, compute or wait, without their numbers of bytes, blocks and threads.
Calls Work(const Calls& calls) {
  Calls work;
  for (const std::string& call : calls) {
    for (const char* name : {"cuMemcpy", "cuLaunchKernel", "cuGraphLaunch", "cuStreamWaitEvent"}) {
      if (!call.starts_with(name)) continue;
      const size_t stream = call.find("stream ");
      work.push_back(call.substr(0, call.find(' ', stream + 7)));
    }
  }
  return work;
}

Error ErrorOf(Session& session) {
  const Graph& graph = session.graph();
  std::vector<Buffer> inputs = MakeBuffers(graph, graph.inputs(), 1);
  std::vector<Buffer> outputs = MakeBuffers(graph, graph.outputs(), 0);
  const auto report = RunOnce(session, inputs, outputs);
  REQUIRE_FALSE(report.ok());
  return report.error();
}

}  // namespace

TEST_CASE("CudaPeers, EachOrderedPairThatTheDriverAllowsIsALinkOfTheSender", "[cuda]") {
  const CudaLab all(Devices(3));
  CHECK(PeerLinks(all.platform) == std::vector<std::string>{"cuda:0>cuda:1", "cuda:0>cuda:2", "cuda:1>cuda:0",
                                                            "cuda:1>cuda:2", "cuda:2>cuda:0", "cuda:2>cuda:1"});
  CHECK(CheckPlatform(all.platform).ok());
  const UnitId engine = FindUnit(all.platform, "cuda:2>cuda:1");
  REQUIRE(engine.valid());
  CHECK(all.platform.device_of(engine) == FindDevice(all.platform, "cuda:2"));
  CHECK(PlatformFromJson(ToJson(all.platform), "here").value().links.size() == all.platform.links.size());

  FakeGpuOptions one_way = Devices(2);
  one_way.can_access = [](int device, int peer) { return device == 1 && peer == 0; };
  const Pair half(one_way);
  CHECK(PeerLinks(half.platform) == std::vector<std::string>{"cuda:1>cuda:0"});
  CHECK(half.drivers[1]->CanReach(*half.drivers[0]));
  CHECK_FALSE(half.drivers[0]->CanReach(*half.drivers[1]));
  CHECK(PeerLinks(CudaLab(WithoutAccess(3)).platform).empty());
  CHECK(half.gpu.Violations().empty());
}

TEST_CASE("CudaPeers, FingerprintsOfDevicesDoNotKnowOfThem", "[cuda]") {
  const CudaLab one, two(Devices(2)), apart(WithoutAccess(2));
  for (const char* name : {"cuda:0", "cuda:1"}) {
    CHECK(two.platform.device(FindDevice(two.platform, name)).fingerprint ==
          apart.platform.device(FindDevice(apart.platform, name)).fingerprint);
  }
  // --devices cuda:0
  const Platform kept = KeepDevices(two.platform, {true, true, false});
  CHECK(PlatformDifferences(kept, one.platform) == std::vector<std::string>{});
  CHECK(CheckPlatform(kept).ok());
  for (const UnitClass& unit_class : kept.unit_classes) CHECK_FALSE(unit_class.name.ends_with("cuda:1"));
  // --devices cuda:0,cuda:1
  CHECK(PeerLinks(KeepDevices(CudaLab(Devices(3)).platform, {true, true, true, false})).size() == 2);
}

TEST_CASE("CudaPeers, ADriverThatCannotSayWhatReachesWhatIsTold", "[cuda]") {
  FakeGpu gpu(Devices(2));
  gpu.FailNext("cuDeviceCanAccessPeer", CUDA_ERROR_INVALID_DEVICE);
  Platform platform = MakeTestPlatform(2, false);
  const Status added = cuda::AddDevices(*gpu.functions(), platform);
  REQUIRE_FALSE(added.ok());
  CHECK(added.error().code == ErrorCode::kDeviceUnusable);
  CHECK(added.error().id == "cuda.device");
  CHECK(platform.devices.size() == 1);
}

TEST_CASE("CudaPeers, OnlyDevicesWithALinkGetAccessToAPool", "[cuda]") {
  const CudaLab linked(Devices(2)), apart(WithoutAccess(2));
  CHECK((linked.MakeDriver(), linked.gpu.Count("cuMemPoolSetAccess")) == 1);
  CHECK((apart.MakeDriver(), apart.gpu.Count("cuMemPoolSetAccess")) == 0);
  const Platform kept = KeepDevices(linked.platform, {true, true, false});
  const CudaLab alone(Devices(2));
  CHECK(cuda::CudaDriver::Make(alone.functions, kept, FindDevice(kept, "cuda:0")).ok());
  CHECK(alone.gpu.Count("cuMemPoolSetAccess") == 0);

  CudaLab refused(Devices(2));
  refused.gpu.FailNext("cuMemPoolSetAccess", CUDA_ERROR_INVALID_DEVICE);
  const auto driver = cuda::CudaDriver::Make(refused.functions, refused.platform, refused.device);
  REQUIRE_FALSE(driver.ok());
  CHECK(driver.error().code == ErrorCode::kDeviceUnusable);
  CHECK(driver.error().message.find("cuMemPoolSetAccess") != std::string::npos);
}

TEST_CASE("CudaPeers, ADeviceWritesToItsPeerAndReadsFromIt", "[cuda]") {
  const Pair pair;
  const auto mine = pair.Filled(0, 1000, 3), others = pair.Filled(1, 1000, 90), target = pair.Filled(0, 1000, 7);
  const auto stream = pair.drivers[0]->MakeStream().value();
  FakeGpu gpu = pair.gpu;
  gpu.TakeCalls();
  cuda::CudaDriver& driver = *pair.drivers[0];
  CHECK(driver.EnqueueCopy(*stream, others->data(), mine->data(), 1000, CopyDirection::kFromDevice, pair.ids[1]).ok());
  CHECK(driver.EnqueueCopy(*stream, target->data(), others->data(), 1000, CopyDirection::kToDevice, pair.ids[1]).ok());
  CHECK_FALSE(Pair::AreEqual(*others, *mine));  // nothing is done before somebody waits
  CHECK(stream->Synchronize(kLong).value());
  CHECK(Pair::AreEqual(*others, *mine));
  CHECK(Pair::AreEqual(*target, *mine));
  CHECK(gpu.TakeCalls() == Calls(2, "cuMemcpyDtoDAsync stream 5 1000"));
  CHECK(gpu.Violations().empty());
}

TEST_CASE("CudaPeers, CopiesThatNoLinkAllowsAreRefused", "[cuda]") {
  const Pair apart(WithoutAccess(2));
  const auto mine = apart.Filled(0, 64, 1), others = apart.Filled(1, 64, 2);
  const auto stream = apart.drivers[0]->MakeStream().value();
  const auto copy = [&](Stream& on, DeviceId peer) {
    const Status status =
        apart.drivers[0]->EnqueueCopy(on, others->data(), mine->data(), 64, CopyDirection::kFromDevice, peer);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == ErrorCode::kUsage);
    return status.error().id;
  };
  CHECK_FALSE(apart.drivers[0]->CanReach(*apart.drivers[1]));
  CHECK(copy(*stream, apart.ids[1]) == "cuda.link");
  CHECK(copy(*stream, apart.ids[0]) == "cuda.link");
  CHECK(copy(*stream, DeviceId(9u)) == "cuda.link");
  CHECK(copy(*apart.drivers[1]->MakeStream().value(), apart.ids[1]) == "cuda.other_device");
  CHECK(apart.gpu.Violations().empty());
}

// What the fake driver is there for: a peer that was opened without the link has not given access to its memory.
TEST_CASE("CudaPeers, MemoryWithoutAccessIsAnErrorOfTheDriver", "[cuda]") {
  const CudaLab lab(Devices(2));
  Platform without = lab.platform;
  std::erase_if(without.links, [](const Link& link) { return !IsHost(link.from) && !IsHost(link.to); });
  const DeviceId peer = FindDevice(lab.platform, "cuda:1");
  const auto driver = lab.MakeDriver();
  const auto closed = cuda::CudaDriver::Make(lab.functions, without, peer).value();
  const auto mine = driver->Allocate(64).value(), others = closed->Allocate(64).value();
  const auto stream = driver->MakeStream().value();
  const Status copied =
      driver->EnqueueCopy(*stream, others->data(), mine->data(), 64, CopyDirection::kFromDevice, peer);
  REQUIRE_FALSE(copied.ok());
  CHECK(copied.error().id == "cuda.call");
  CHECK(lab.gpu.Violations() == Calls{"cuMemcpyDtoDAsync: not in memory that the device reaches"});
}

TEST_CASE("CudaPeers, AStreamWaitsForAnEventOfAnotherDevice", "[cuda]") {
  const Pair pair;  // runs the newest work first: without the wait the second copy would come first
  const auto first = pair.Filled(0, 64, 3), second = pair.Filled(1, 64, 90), third = pair.Filled(0, 64, 7);
  const auto sender = pair.drivers[0]->MakeStream().value(), receiver = pair.drivers[1]->MakeStream().value();
  const auto sent = pair.drivers[0]->MakeEvent().value(), never = pair.drivers[0]->MakeEvent().value();
  CHECK(pair.drivers[1]->CanWaitFor(*pair.drivers[0]));
  CHECK(pair.drivers[0]
            ->EnqueueCopy(*sender, second->data(), first->data(), 64, CopyDirection::kFromDevice, pair.ids[1])
            .ok());
  CHECK(sender->Record(*sent).ok());
  CHECK(receiver->Wait(*never).ok());
  CHECK(receiver->Wait(*sent).ok());
  CHECK(pair.drivers[1]
            ->EnqueueCopy(*receiver, third->data(), second->data(), 64, CopyDirection::kFromDevice, pair.ids[0])
            .ok());
  CHECK(receiver->Synchronize(kLong).value());
  CHECK(Pair::AreEqual(*third, *first));
  // Points of another clock, and of a device that cannot record them.
  const auto other = pair.drivers[1]->MakeEvent().value();
  CHECK(other->ElapsedNs(*sent).error().id == "cuda.other_device");
  CHECK(receiver->Record(*sent).error().id == "cuda.other_device");
  CHECK(pair.gpu.Violations().empty());
}

TEST_CASE("CudaPeers, NoCaptureWaitsForAnotherDevice", "[cuda]") {
  const Pair pair;
  const auto capturing = pair.drivers[0]->MakeStream().value(), other = pair.drivers[1]->MakeStream().value();
  const auto outside = pair.drivers[1]->MakeEvent().value(), inside = pair.drivers[0]->MakeEvent().value();
  const auto mine = pair.Filled(0, 64, 3), others = pair.Filled(1, 64, 90);
  CHECK(other->Record(*outside).ok());
  CHECK(capturing->BeginCapture().ok());
  CHECK(capturing->Wait(*outside).error().id == "cuda.capture");
  CHECK(pair.drivers[0]
            ->EnqueueCopy(*capturing, others->data(), mine->data(), 64, CopyDirection::kFromDevice, pair.ids[1])
            .ok());
  CHECK(capturing->Record(*inside).ok());
  CHECK(other->Wait(*inside).error().id == "cuda.capture");
  const auto executable = capturing->EndCapture();
  if (!executable.ok()) FAIL(ToString(executable.error()));
  CHECK_FALSE(Pair::AreEqual(*others, *mine));
  // Outside of the capture both waits are allowed, and the recorded copy is one of them.
  CHECK(capturing->Wait(*outside).ok());
  CHECK((*executable)->Launch(*capturing).ok());
  CHECK((*executable)->Launch(*other).error().id == "cuda.other_device");
  CHECK(other->Wait(*inside).ok());
  CHECK(other->Synchronize(kLong).value());
  CHECK(Pair::AreEqual(*others, *mine));
  CHECK(pair.gpu.Violations().empty());
}

TEST_CASE("CudaPeers, AValueGoesFromDeviceToDeviceWithoutTheHost", "[cuda]") {
  const bool capture = GENERATE(true, false);
  const bool newest_first = GENERATE(true, false);
  CAPTURE(capture, newest_first);
  FakeGpuOptions options = Devices(2);
  options.newest_first = newest_first;
  PairSetting setting(kChain, options);
  {
    const Plan plan = setting.PlanOn({"cuda:0#0", "cuda:1#0"});
    std::vector<std::string> units;
    for (const Step& step : plan.steps) units.push_back(setting.machine->platform().unit(step.unit).name);
    CHECK(units == std::vector<std::string>{"cpu>cuda:0", "cuda:0#0", "cuda:0>cuda:1", "cuda:1#0", "cuda:1>cpu"});
    const auto session = setting.Create(plan, {.capture = capture});
    CHECK(FaultOf(*session, 0) == "");
    setting.gpu.TakeCalls();
    for (int run = 1; run < 3; ++run) CHECK(FaultOf(*session, static_cast<float>(run)) == "");
    // Streams by their numbers: 0 and 1 are the devices' own, then a stream for each unit in the order of the steps.
    // The host waits for nothing in between, and launches the second device before the first is asked how far it is.
    const Calls once =
        capture ? Calls{"cuGraphLaunch stream 2", "cuStreamWaitEvent stream 5", "cuGraphLaunch stream 5"}
                : Calls{"cuMemcpyHtoDAsync stream 2", "cuStreamWaitEvent stream 3", "cuLaunchKernel stream 3",
                        "cuStreamWaitEvent stream 4", "cuMemcpyDtoDAsync stream 4", "cuStreamWaitEvent stream 5",
                        "cuLaunchKernel stream 5",    "cuStreamWaitEvent stream 6", "cuMemcpyDtoHAsync stream 6"};
    Calls twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    CHECK(Work(setting.gpu.TakeCalls()) == twice);
  }
  setting.machine.reset();
  CHECK(setting.gpu.Alive() == "");
  CHECK(setting.gpu.Violations().empty());
}

// Each device makes what the other one goes on with, more than once, on several streams.
TEST_CASE("CudaPeers, DevicesThatHandEachOtherValuesGiveTheReferencesResult", "[cuda]") {
  const bool capture = GENERATE(true, false);
  CAPTURE(capture);
  PairSetting setting(
      "input x float32[64]\n"
      "a = Relu(x) : float32[64]\n"
      "b = Exp(a) : float32[64]\n"
      "c = Neg(a) : float32[64]\n"
      "d = Add(b, c) : float32[64]\n"
      "e = Tanh(d) : float32[64]\n"
      "y = Sub(e, c) : float32[64]\n"
      "output y\n");
  const auto session = setting.Create(
      setting.PlanOn({"cuda:0#0", "cuda:1#0", "cuda:0#1", "cuda:1#1", "cuda:0#0", "cuda:1#0"}), {.capture = capture});
  for (int run = 0; run < 3; ++run) CHECK(FaultOf(*session, static_cast<float>(run)) == "");
  CHECK(setting.gpu.Count("cuMemcpyDtoDAsync") > 0);
  CHECK(setting.gpu.Violations().empty());
}

TEST_CASE("CudaPeers, RandomPlansOverTwoDevicesAgreeWithTheReference", "[cuda]") {
  const auto seed = GENERATE(range(1u, 11u));
  const bool newest_first = GENERATE(true, false), linked = GENERATE(true, false);
  CAPTURE(seed, newest_first, linked);
  FakeGpuOptions options = linked ? Devices(2) : WithoutAccess(2);
  options.newest_first = newest_first;
  const CudaLab lab(options);
  CheckRandomPlan(lab, seed);
  CHECK((lab.gpu.Count("cuMemcpyDtoDAsync") > 0) == linked);
  CHECK(lab.gpu.Violations().empty());
  CHECK(lab.gpu.Alive() == "");
}

TEST_CASE("CudaPeers, APlanWithALinkThatIsNotThereIsRefused", "[cuda]") {
  const PairSetting linked(kChain);
  const Plan plan = linked.PlanOn({"cuda:0#0", "cuda:1#0"});
  const PairSetting apart(kChain, WithoutAccess(2));
  CHECK_FALSE(Session::Create(apart.graph, plan, *apart.machine).ok());
  // The platform claims the link, the drivers know better.
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(kHostDevice));
  for (const uint32_t device : {1u, 2u}) drivers.push_back(apart.MakeDriver(DeviceId(device)));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeReferenceLibrary());
  libraries.push_back(cuda::MakeOwnKernelsLibrary());
  const auto claiming = Machine::Assemble(linked.platform, std::move(drivers), std::move(libraries)).value();
  const auto session = Session::Create(apart.graph, plan, *claiming);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().id == "session.copy");
}

TEST_CASE("CudaPeers, ALostPeerIsNamedAndTheOtherDeviceStaysUsable", "[cuda]") {
  const bool capture = GENERATE(true, false);
  CAPTURE(capture);
  PairSetting setting(kChain);
  {
    const auto both = setting.Create(setting.PlanOn({"cuda:0#0", "cuda:1#0"}), {.capture = capture});
    const auto back = setting.Create(setting.PlanOn({"cuda:1#0", "cuda:0#0"}), {.capture = capture});
    const auto first_alone = setting.Create(setting.PlanOn({"cuda:0#0", "cuda:0#0"}), {.capture = capture});
    const auto second_alone = setting.Create(setting.PlanOn({"cuda:1#0", "cuda:1#0"}), {.capture = capture});
    for (Session* session : {both.get(), back.get(), first_alone.get()}) CHECK(FaultOf(*session, 1) == "");
    setting.gpu.FaultNextKernel(1);
    for (Session* session : {second_alone.get(), both.get(), back.get(), both.get()}) {
      const Error error = ErrorOf(*session);
      CHECK(error.code == ErrorCode::kRunFailed);
      CHECK(error.id == "cuda.lost");
      CHECK(error.message.find("device cuda:1 is lost") != std::string::npos);
      CHECK(FaultOf(*first_alone, 2) == "");
    }
  }
  setting.machine.reset();
  CHECK(setting.gpu.Alive() == "");
}

TEST_CASE("CudaPeers, ADriverTellsALostPeerFromALossOfItsOwn", "[cuda]") {
  const bool own = GENERATE(false, true);
  CAPTURE(own);
  Pair pair;
  const auto mine = pair.Filled(0, 64, 3), others = pair.Filled(1, 64, 90);
  const auto stream = pair.drivers[0]->MakeStream().value(), broken = pair.drivers[own ? 0 : 1]->MakeStream().value();
  const auto event = pair.drivers[1]->MakeEvent().value();
  const std::string text = "extern \"C\" __global__ void pt_kernel(const Arguments a) {}\n";
  const auto program = pair.drivers[own ? 0 : 1]->programs().Get(text).value();
  pair.gpu.FaultNextKernel(own ? 0 : 1);
  CHECK(program->Launch(*cuda::AsCuda(*broken), 1, 1, {}).ok());
  CHECK(broken->Synchronize(kLong).error().id == "cuda.lost");
  const Status copied =
      pair.drivers[0]->EnqueueCopy(*stream, others->data(), mine->data(), 64, CopyDirection::kFromDevice, pair.ids[1]);
  REQUIRE_FALSE(copied.ok());
  CHECK(copied.error().id == "cuda.lost");
  CHECK(copied.error().device == (own ? "cuda:0" : "cuda:1"));
  CHECK(stream->Wait(*event).error().device == (own ? "cuda:0" : "cuda:1"));
  CHECK(pair.drivers[0]->Allocate(64).ok() == !own);
  CHECK(pair.drivers[1]->Allocate(64).ok() == own);
}

// Nobody promises that such a wait ever ends: the run does, within the grace period, and says which device it was.
TEST_CASE("CudaPeers, ADeviceThatWaitsForALostOneIsNotWaitedForByTheHost", "[cuda]") {
  const bool capture = GENERATE(true, false);
  CAPTURE(capture);
  PairSetting setting(kChain);
  auto session = setting.Create(setting.PlanOn({"cuda:1#0", "cuda:0#0"}),
                                {.capture = capture, .device_grace = std::chrono::milliseconds(20)});
  CHECK(FaultOf(*session, 1) == "");
  setting.gpu.FaultNextKernel(1);
  const Error error = ErrorOf(*session);
  CHECK(error.id == "device.hung");
  CHECK(error.device == "cuda:0");
  CHECK(error.message.find("device cuda:1 is lost") != std::string::npos);
  session.reset();
  CHECK(setting.machine->lost_devices().IsAnyAtWork());  // its memory is kept for as long
  setting.gpu.ReleaseWaitsForBroken();
  while (setting.machine->lost_devices().IsAnyAtWork()) std::this_thread::yield();
  setting.machine.reset();
  CHECK(setting.gpu.Alive() == "");
}

TEST_CASE("CudaPeers, ThingsOfAPeerOutliveItsDriver", "[cuda]") {
  Pair pair;
  auto mine = pair.Filled(0, 64, 3), others = pair.Filled(1, 64, 90);
  auto stream = pair.drivers[0]->MakeStream().value();
  auto others_stream = pair.drivers[1]->MakeStream().value();
  auto event = pair.drivers[1]->MakeEvent().value();
  CHECK(others_stream->Record(*event).ok());
  pair.drivers[1].reset();
  CHECK(stream->Wait(*event).ok());
  CHECK(pair.drivers[0]
            ->EnqueueCopy(*stream, others->data(), mine->data(), 64, CopyDirection::kFromDevice, pair.ids[1])
            .ok());
  CHECK(stream->Synchronize(kLong).value());
  CHECK(Pair::AreEqual(*others, *mine));
  event.reset();
  others_stream.reset();
  others.reset();
  mine.reset();
  stream.reset();
  pair.drivers[0].reset();
  CHECK(pair.gpu.Alive() == "");
  CHECK(pair.gpu.Violations().empty());
}

TEST_CASE("CudaPeers, LinksBetweenDevicesAndTheirWaitsAreMeasured", "[cuda]") {
  const CudaLab lab(Devices(2));
  {
    const CudaMachine machine(lab, "input x float32[64]\ny = Relu(x) : float32[64]\noutput y\n");
    const OwnLockFolder locks;
    const TemporaryFolder folder;
    ProfileDb db = ProfileDb::Open(folder.path() + "/profile.db").value();
    const Platform measured = MeasuredPlatform(*machine.machine);
    std::vector<Candidate> candidates = EnumerateCandidates(*machine.graph, measured, machine.machine->libraries());
    const LinkId link = FindLink(measured, DeviceId(1u), DeviceId(2u));
    REQUIRE(link.valid());
    const auto needed = NeededKeys(*machine.graph, measured, candidates, LibraryVersions(*machine.machine));
    const auto copies = std::ranges::count_if(
        needed, [&](const NeededKey& key) { return key.kind == &kCopyKind && key.link().link == link; });
    CHECK(copies > 0);
    MeasureOptions fast;
    fast.max_time_per_key = std::chrono::milliseconds(1);
    fast.max_noise = 0.5;
    fast.watch_hand_overs = false;
    const auto report = MeasureProfile(*machine.graph, candidates, *machine.machine, db, fast, {});
    if (!report.ok()) FAIL(ToString(report.error()));
    CHECK(report->failed == 0);
    CHECK(report->missing == 0);
    Profile profile;
    profile.measurements = db.All().value();
    ProfiledCostsOptions options;
    options.library_versions = LibraryVersions(*machine.machine);
    options.allow_estimates = false;
    options.candidates = candidates;
    const auto costs = MakeProfiledCosts(*machine.graph, measured, std::move(profile), options);
    CHECK(costs->Copy(uint64_t{1} << 20, link).provenance != Provenance::kEstimated);
    CHECK(costs->Copy(uint64_t{1} << 20, link).ns > 0);
  }
  CHECK(lab.gpu.Violations().empty());
  CHECK(lab.gpu.Alive() == "");
}

}  // namespace pt::testing::peer_test
