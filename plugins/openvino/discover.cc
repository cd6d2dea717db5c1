#include "plugins/openvino/discover.h"

#include <algorithm>
#include <array>
#include <map>

#include "partitiontuner/platform/asynchronous_device.h"
#include "plugins/openvino/device.h"
#include "plugins/openvino/fence.h"

namespace pt::openvino {
namespace {

constexpr std::string_view kPrefix = "openvino:";
constexpr uint32_t kMostRequests = 64;
// More in flight seldom gain, and each has tensors of its own within OpenVINO.
constexpr uint32_t kUsualRequests = 4;
// Of an NPU, whose driver takes about a tenth of a millisecond for a call: less than that of work on one core. Assumed,
// since no NPU was at hand; a file of the device says better.
constexpr double kNpuLeastFlops = 1e7;

// What a file says of a device.
struct Described {
  std::string what;
  std::optional<uint32_t> requests;
  std::optional<CallRules> calls;
};

Error Bad(std::string_view what, std::string message) {
  return MakeError(ErrorCode::kInvalidInput, "openvino.described", std::string(what) + ": " + std::move(message));
}

Result<std::pair<std::string, Described>> Read(const DeviceDescription& description) {
  const Json& json = description.json;
  const std::string& what = description.what;
  if (json.as_object() == nullptr) return Bad(what, "a platform file is a JSON object");
  for (const auto& [key, value] : *json.as_object()) {
    constexpr std::array<std::string_view, 7> kKnown = {"format", "version",  "kind",       "device",
                                                        "calls",  "requests", "description"};
    if (std::ranges::find(kKnown, key) == kKnown.end()) return Bad(what, "unknown key '" + key + "'");
  }
  PT_ASSIGN(const int64_t version, JsonInt(json, "version", what));
  if (version != 1) return Bad(what, "version " + std::to_string(version) + " is unknown; this plugin reads version 1");
  PT_ASSIGN(std::string device, JsonString(json, "device", what));
  Described described;
  described.what = what;
  if (json.find("requests") != nullptr) {
    PT_ASSIGN(const uint64_t requests, JsonUnsigned(json, "requests", what));
    if (requests < 1 || requests > kMostRequests) {
      return Bad(what, "requests must be 1 to " + std::to_string(kMostRequests) + ", not " + std::to_string(requests));
    }
    described.requests = static_cast<uint32_t>(requests);
  }
  if (const Json* calls = json.find("calls"); calls != nullptr) {
    PT_ASSIGN(described.calls, CallRulesFromJson(*calls, what + ": calls"));
  }
  return std::pair(std::move(device), std::move(described));
}

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

Status Add(const Runtime& runtime, const std::string& name, const Described& described, Platform& platform) {
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
  const uint32_t requests = described.requests.value_or(std::min(facts.requests, kUsualRequests));
  const Result<DeviceId> added = AddAsynchronousDevice(platform, std::move(device), requests, Link(), Link());
  return added.ok() ? Status() : Status(added.error());
}

}  // namespace

std::string OvNameOf(const Device& device) {
  return device.name.starts_with(kPrefix) ? device.name.substr(kPrefix.size()) : device.name;
}

Status AddDevices(const Runtime& runtime, const DiscoverRequest& request, Platform& platform) {
  const std::vector<std::string> found = runtime.Devices();
  std::map<std::string, Described> devices;
  for (const std::string& name : found) {
    if (name != kCpu) devices.emplace(name, Described());
  }
  for (const DeviceDescription& description : request.described) {
    PT_ASSIGN(auto row, Read(description));
    if (std::ranges::find(found, row.first) == found.end()) {
      std::string names;
      for (const std::string& name : found) names += (names.empty() ? "" : ", ") + name;
      Error error =
          OpenVinoError(ErrorCode::kDeviceUnusable, "OpenVINO finds no device " + row.first + ", only " + names);
      error.file = description.what;
      return error;
    }
    Described& known = devices[row.first];
    if (!known.what.empty()) return Bad(description.what, "the device " + row.first + " is described twice");
    known = std::move(row.second);
  }
  Platform attempt = platform;
  for (const auto& [name, described] : devices) PT_CHECK_OK(Add(runtime, name, described, attempt));
  platform = std::move(attempt);
  return {};
}

}  // namespace pt::openvino
