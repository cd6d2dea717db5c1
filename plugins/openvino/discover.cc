#include "plugins/openvino/discover.h"

#include <algorithm>

#include "partitiontuner/platform/asynchronous_device.h"
#include "plugins/openvino/device.h"
#include "plugins/openvino/fence.h"
#include "plugins/shared/device_files.h"

namespace pt::openvino {
namespace {

constexpr std::string_view kPrefix = "openvino:";
// More in flight seldom gain, and each has tensors of its own within OpenVINO.
constexpr uint32_t kUsualRequests = 4;
// Of an NPU, whose driver takes about a tenth of a millisecond for a call: less than that of work on one core. Assumed,
// since no NPU was at hand; a file of the device says better.
constexpr double kNpuLeastFlops = 1e7;

constexpr plugins::DeviceFileForm kForm = {kName, "device", "requests"};

// Rules of a device that no file speaks of.
Result<CallRules> UsualRules(const DeviceFacts& facts) {
  CallRules rules;
  rules.islands = true;
  if (facts.name.starts_with("NPU")) rules.least_flops = kNpuLeastFlops;
  if (facts.can("FP32")) return rules;
  if (!facts.can("FP16")) {
    return OpenVinoError(ErrorCode::kDeviceUnusable,
                         facts.name + " (" + facts.full_name + ") has neither FP32 nor FP16");
  }
  rules.math = "fp16";
  return rules;
}

Status Add(const Runtime& runtime, const std::string& name, const plugins::DescribedDevice& described,
           Platform& platform) {
  PT_ASSIGN(const DeviceFacts facts, runtime.FactsOf(name));
  Device device;
  device.name = std::string(kPrefix) + name;
  device.kind = kDeviceKind;
  device.memory_bytes = facts.memory_bytes;
  device.fingerprint = facts.Fingerprint();
  PT_ASSIGN(device.calls, UsualRules(facts));
  if (described.calls) {
    device.calls = *described.calls;
    device.calls.islands = true;  // a model is compiled whole, whatever the file says
  }
  const uint32_t requests = described.streams.value_or(std::min(facts.requests, kUsualRequests));
  const Result<DeviceId> added = AddAsynchronousDevice(platform, std::move(device), requests, Link(), Link());
  return added.ok() ? Status() : Status(added.error());
}

}  // namespace

std::string OvNameOf(const Device& device) {
  return device.name.starts_with(kPrefix) ? device.name.substr(kPrefix.size()) : device.name;
}

Status AddDevices(const Runtime& runtime, const DiscoverRequest& request, Platform& platform) {
  const std::vector<std::string> found = runtime.Devices();
  std::vector<std::string> by_themselves = found;
  std::erase(by_themselves, kCpu);
  PT_ASSIGN(const auto devices, plugins::DevicesToAdd(by_themselves, request.described, kForm));
  Platform attempt = platform;
  for (const auto& [name, described] : devices) {
    if (std::ranges::find(found, name) == found.end()) {
      return plugins::NoSuchDevice(name, described, found, kForm);
    }
    PT_CHECK_OK(Add(runtime, name, described, attempt));
  }
  platform = std::move(attempt);
  return {};
}

}  // namespace pt::openvino
