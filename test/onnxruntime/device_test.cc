// ONNX Runtime's providers as devices, by the host's provider: described as one with memory and streams of its own, and
// in the place of providers that are not here.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "partitiontuner/graph/graph_text.h"
#include "plugins/onnxruntime/discover.h"
#include "plugins/onnxruntime/hardware.h"
#include "plugins/onnxruntime/library.h"
#include "plugins/shared/call_stream.h"
#include "test/onnxruntime/fake_api.h"
#include "test/testing/check_case.h"
#include "test/testing/device_checks.h"
#include "test/testing/test_data.h"
#include "test/testing/test_machine.h"

namespace pt::onnxruntime::device_test {
namespace {

using testing::LoadCase;

constexpr const char* kCpuAsDevice = R"({"version": 1, "kind": "onnxruntime", "provider": "CPU", "streams": 2})";

testing::AddDescribed Adding(const OrtRuntime& runtime) {
  return [&](const DiscoverRequest& request, Platform& platform) { return AddDevices(runtime, request, platform); };
}

Status Describe(const OrtRuntime& runtime, const std::vector<std::string>& files, Platform& platform) {
  return testing::Describe(Adding(runtime), files, platform);
}

Platform PlatformWith(const OrtRuntime& runtime, const std::vector<std::string>& files) {
  Platform platform = testing::MakeTestPlatform(2, false);
  const Status added = Describe(runtime, files, platform);
  if (!added.ok()) FAIL(ToString(added.error()));
  return platform;
}

// Two cores and the one device that is there.
std::unique_ptr<Machine> MakeMachine(const std::shared_ptr<const OrtRuntime>& runtime,
                                     const std::vector<std::string>& files) {
  Platform platform = PlatformWith(*runtime, files);
  REQUIRE(platform.devices.size() == 2);
  auto driver =
      std::make_unique<plugins::CallDriver>(DeviceId(1u), kName, platform.devices[1].name, std::vector<uint32_t>());
  return testing::MachineWith(std::move(platform), std::move(driver), std::make_unique<OnnxRuntimeLibrary>(runtime));
}

std::unique_ptr<Machine> MachineOfCpu() { return MakeMachine(OrtRuntime::Get().value(), {kCpuAsDevice}); }

TEST_CASE("OnnxRuntimeDevice, RandomPlansGiveTheResultOfTheReference", "[onnxruntime]") {
  testing::CheckRandomPlansOnDevice(*MachineOfCpu());
}

TEST_CASE("OnnxRuntimeDevice, CancelledRunsLeaveTheSessionUsable", "[onnxruntime]") {
  testing::CheckCancelledRunsOnDevice(*MachineOfCpu());
}

TEST_CASE("OnnxRuntimeDevice, GroupsAreOfferedByTheRulesOfTheDevice", "[onnxruntime]") {
  testing::CheckRulesOfDevice(*MachineOfCpu(), "onnxruntime", false);
}

TEST_CASE("OnnxRuntimeDevice, AProviderIsADeviceOfItselfWhereItRuns", "[onnxruntime]") {
  FakeApi api;
  api.providers = {"TensorrtExecutionProvider", "CUDAExecutionProvider", "XnnpackExecutionProvider",
                   "CPUExecutionProvider"};
  const auto runtime = api.MakeRuntime();
  // TensorRT's own functions are the real ones, which have none.
  const Platform platform = PlatformWith(*runtime, {});
  REQUIRE(platform.devices.size() == 2);
  const Device& device = platform.devices[1];
  CHECK(device.name == "onnxruntime:CUDA");
  CHECK(device.kind == "onnxruntime");
  CHECK(device.calls.islands);
  CHECK(device.calls.math.empty());
  CHECK(device.fingerprint.find("CUDAExecutionProvider") != std::string::npos);
  CHECK(device.fingerprint.find(runtime->version()) != std::string::npos);
  CHECK(device.fingerprint.find(AcceleratorsOf()) != std::string::npos);
  CHECK(UnitsOf(platform, FindUnitClass(platform, "onnxruntime:CUDA")).size() == 2);
  CHECK(api.options.at("use_tf32") == "0");
  CHECK(WhyNotOfItself("XnnpackExecutionProvider").value_or("").find("host") != std::string::npos);
  CHECK(WhyNotOfItself("NewExecutionProvider").value_or("").find("platform file") != std::string::npos);
  CHECK_FALSE(WhyNotOfItself("CUDAExecutionProvider").has_value());
}

// A wheel for GPUs on a machine without one lists its provider all the same.
TEST_CASE("OnnxRuntimeDevice, AProviderWithoutHardwareIsNoDeviceAndAFileOfItIsRefused", "[onnxruntime]") {
  FakeApi api;
  api.refuses_provider = "no such hardware";
  const auto runtime = api.MakeRuntime();
  api.providers = {"QNNExecutionProvider", "CPUExecutionProvider"};
  CHECK(PlatformWith(*runtime, {}).devices.size() == 1);
  Platform platform = testing::MakeTestPlatform(2, false);
  const Status status = Describe(*runtime, {R"({"version": 1, "kind": "onnxruntime", "provider": "QNN"})"}, platform);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kDeviceUnusable);
  CHECK(status.error().message.find("no such hardware") != std::string::npos);
  CHECK(status.error().file == "device.json");
}

TEST_CASE("OnnxRuntimeDevice, OptionsSayWhichDeviceAndWhichMode", "[onnxruntime]") {
  FakeApi api;
  api.providers = {"CUDAExecutionProvider", "OpenVINOExecutionProvider", "CPUExecutionProvider"};
  const auto runtime = api.MakeRuntime();
  const Graph graph = LoadCase({"", "input x float32[4]\ny = Relu(x)\noutput y\n"});
  REQUIRE(runtime->CheckRuns(graph, {ParseProviderName("CUDA.3"), MathMode::kTf32, {}}).ok());
  CHECK(api.options.at("device_id") == "3");
  CHECK(api.options.at("use_tf32") == "1");
  CHECK(api.without_fallback == 1);
  const Status fp16 = runtime->CheckRuns(graph, {ParseProviderName("CUDA"), MathMode::kFp16, {}});
  REQUIRE_FALSE(fp16.ok());
  CHECK(fp16.error().message.find("does not compute in fp16, only in fp32, tf32") != std::string::npos);
  // The host's own provider is what others must not fall back to.
  CHECK(runtime->CheckRuns(graph, OrtTarget()).ok());
  CHECK(api.without_fallback == 1);
}

TEST_CASE("OnnxRuntimeDevice, AnyProviderOfTheSharedObjectCanBeDescribed", "[onnxruntime]") {
  FakeApi api;
  const auto runtime = api.MakeRuntime();
  CHECK(PlatformWith(*runtime, {}).devices.size() == 1);
  testing::CheckRandomPlansOnDevice(
      *MakeMachine(runtime, {R"({"version": 1, "kind": "onnxruntime", "provider": "Fake", "streams": 2})"}));
  CHECK(api.without_fallback > 0);
}

// What the real shared object says where a provider does not take a node: the host's must not compute it unseen.
TEST_CASE("OnnxRuntimeDevice, TheRealSharedObjectRefusesToFallBack", "[onnxruntime]") {
  const auto runtime = OrtRuntime::Get().value();
  const Graph graph = LoadCase({"", "input x float32[4]\ny = Relu(x)\noutput y\n"});
  const Status status = runtime->CheckRuns(graph, {ParseProviderName("AZURE"), MathMode::kFp32, {}});
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message.find("fallback") != std::string::npos);
  INFO(status.error().message);
  CHECK(runtime->CheckRuns(graph, OrtTarget()).ok());
}

TEST_CASE("OnnxRuntimeDevice, FilesSayWhatIsADeviceAndWhatIsWrongWithThem", "[onnxruntime]") {
  const auto runtime = OrtRuntime::Get().value();
  const Platform host = testing::MakeTestPlatform(2, false);
  testing::CheckRefusedFiles(
      Adding(*runtime),
      {{{kCpuAsDevice, kCpuAsDevice}, "described twice"},
       {{R"({"version": 2, "kind": "onnxruntime", "provider": "CPU"})"}, "version 2 is unknown"},
       {{R"({"version": 1, "kind": "onnxruntime", "provider": "XPU"})"}, "there is no provider XPU, only"},
       {{R"({"version": 1, "kind": "onnxruntime", "provider": "CPU.1"})"}, "no devices to choose from"},
       {{R"({"version": 1, "kind": "onnxruntime", "provider": "CPU", "streams": 0})"}, "streams must be 1 to"},
       {{R"({"version": 1, "kind": "onnxruntime", "provider": "CPU", "requests": 2})"}, "unknown key 'requests'"},
       {{R"({"version": 1, "kind": "onnxruntime", "provider": "CPU", "calls": {"math": "fp16"}})"},
        "does not compute in fp16"}});
}

// A session on a device that a test makes fail, and one beside it on the host.
struct FaultyScene {
  FakeApi api;
  std::shared_ptr<const OrtRuntime> runtime = api.MakeRuntime();
  std::unique_ptr<Machine> machine =
      MakeMachine(runtime, {R"({"version": 1, "kind": "onnxruntime", "provider": "Fake", "streams": 2})"});
  std::shared_ptr<const Graph> graph = std::make_shared<const Graph>(
      LoadCase({"", "input x float32[8]\na = Relu(x)\nb = Neg(a)\nc = Neg(b)\noutput c\n"}));

  std::unique_ptr<pt::Session> SessionOn(const char* unit) const {
    const std::vector<UnitId> units(graph->nodes().size(), FindUnit(machine->platform(), unit));
    auto session = pt::Session::Create(graph, testing::MakeTestPlan(*graph, *machine, units), *machine, {});
    if (!session.ok()) FAIL(ToString(session.error()));
    return std::move(session).value();
  }
  Result<RunReport> Run(pt::Session& session) const {
    auto inputs = testing::MakeBuffers(*graph, graph->inputs(), 3);
    auto outputs = testing::MakeBuffers(*graph, graph->outputs(), 0);
    auto report = session.Run(testing::Lend(inputs), testing::Lend(outputs));
    if (report.ok()) CHECK(outputs[0].data == inputs[0].data);
    return report;
  }
};

TEST_CASE("OnnxRuntimeDevice, AFailedRunSaysWhyAndTheNextOneIsRight", "[onnxruntime]") {
  FaultyScene scene;
  const auto session = scene.SessionOn("onnxruntime:Fake#0");
  REQUIRE(scene.Run(*session).ok());
  scene.api.fails_with = "CUDA failure 2: out of memory";
  for (const int at : {1, 2, 3}) {
    scene.api.fails_at = at;
    const auto report = scene.Run(*session);
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().code == ErrorCode::kRunFailed);
    CHECK(report.error().message.find("CUDA failure 2") != std::string::npos);
    CHECK(report.error().device == "onnxruntime:Fake");
    CHECK(scene.Run(*session).ok());
  }
}

TEST_CASE("OnnxRuntimeDevice, ADeviceLostInARunLeavesTheHost", "[onnxruntime]") {
  FaultyScene scene;
  auto session = scene.SessionOn("onnxruntime:Fake#1");
  REQUIRE(scene.Run(*session).ok());
  scene.api.fails_with = "CUDA failure 700: an illegal memory access was encountered";
  scene.api.fails_at = 2;
  for (int run = 0; run < 2; ++run) {
    const auto report = scene.Run(*session);
    REQUIRE_FALSE(report.ok());
    CHECK(report.error().code == ErrorCode::kRunFailed);  // the exit code 12
    CHECK(report.error().id == "onnxruntime.lost");
    CHECK(report.error().device == "onnxruntime:Fake");
  }
  session.reset();
  CHECK(scene.Run(*scene.SessionOn("cpu[1]")).ok());
}

TEST_CASE("AcceleratorsOf, NamesDevicesAndDrivers", "[onnxruntime]") {
  const testing::TemporaryFolder folder;
  namespace fs = std::filesystem;
  CHECK(AcceleratorsOf(folder.path()) == "no device");
  const auto add = [&](const std::string& at, const char* kind, const char* vendor, const char* device) {
    const fs::path place = folder.path() + "/bus/pci/devices/" + at;
    fs::create_directories(place);
    std::ofstream(place / "class") << kind << "\n";
    std::ofstream(place / "vendor") << vendor << "\n";
    std::ofstream(place / "device") << device << "\n";
    return place;
  };
  const fs::path gpu = add("0000:01:00.0", "0x030200", "0x10de", "0x2330");
  add("0000:00:0b.0", "0x120000", "0x8086", "0x7d1d");
  add("0000:02:00.0", "0x020000", "0x8086", "0x1533");  // a network card
  CHECK(AcceleratorsOf(folder.path()) == "10de:2330, 8086:7d1d");
  fs::create_directories(folder.path() + "/module/nvidia");
  std::ofstream(folder.path() + "/module/nvidia/version") << "550.54.15\n";
  fs::create_symlink("../../../drivers/nvidia", gpu / "driver");
  CHECK(AcceleratorsOf(folder.path()) == "10de:2330, 8086:7d1d, nvidia 550.54.15");
}

}  // namespace
}  // namespace pt::onnxruntime::device_test
