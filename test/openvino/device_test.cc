// Devices of OpenVINO, by its CPU device described as one with memory and a queue of its own: real models, real
// requests and real callbacks on any machine.
#include "plugins/openvino/device.h"

#include <catch2/catch_test_macros.hpp>

#include "plugins/openvino/discover.h"
#include "plugins/openvino/library.h"
#include "test/openvino/runtime_for_tests.h"
#include "test/testing/check_case.h"
#include "test/testing/device_checks.h"
#include "test/testing/test_machine.h"

namespace pt::openvino::device_test {
namespace {

using testing::LoadCase;

constexpr const char* kCpuAsDevice = R"({"version": 1, "kind": "openvino", "device": "CPU", "requests": 2})";

testing::AddDescribed Adding(const Runtime& runtime) {
  return [&](const DiscoverRequest& request, Platform& platform) { return AddDevices(runtime, request, platform); };
}

Status Describe(const Runtime& runtime, const std::vector<std::string>& files, Platform& platform) {
  return testing::Describe(Adding(runtime), files, platform);
}

std::unique_ptr<Machine> MakeMachine() {
  const std::shared_ptr<Runtime> runtime = RuntimeForTests();
  Platform platform = testing::MakeTestPlatform(2, false);
  const Status added = Describe(*runtime, {kCpuAsDevice}, platform);
  if (!added.ok()) FAIL(ToString(added.error()));
  return testing::MachineWith(std::move(platform),
                              std::make_unique<OvDriver>(DeviceId(1u), "openvino:CPU", runtime, "CPU"),
                              std::make_unique<OpenVinoLibrary>(runtime));
}

}  // namespace

TEST_CASE("OpenVinoDevice, RandomPlansGiveTheResultOfTheReference", "[openvino]") {
  testing::CheckRandomPlansOnDevice(*MakeMachine());
}

TEST_CASE("OpenVinoDevice, CancelledRunsLeaveTheSessionUsable", "[openvino]") {
  testing::CheckCancelledRunsOnDevice(*MakeMachine());
}

TEST_CASE("OpenVinoDevice, GroupsAreOfferedByTheRulesOfTheDevice", "[openvino]") {
  testing::CheckRulesOfDevice(*MakeMachine(), "openvino", true);
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
  testing::CheckRefusedFiles(
      Adding(*runtime),
      {{{kCpuAsDevice, kCpuAsDevice}, "described twice"},
       {{R"({"version": 2, "kind": "openvino", "device": "CPU"})"}, "version 2 is unknown"},
       {{R"({"version": 1, "kind": "openvino", "device": "XPU"})"}, "there is no device XPU"},
       {{R"({"version": 1, "kind": "openvino", "device": "CPU", "requests": 0})"}, "requests must be 1 to"},
       {{R"({"version": 1, "kind": "openvino", "device": "CPU", "streams": 2})"}, "unknown key 'streams'"},
       {{R"({"version": 1, "kind": "openvino", "device": "CPU", "calls": {"math": "fp8"}})"}, "fp8"}});
}

}  // namespace pt::openvino::device_test
