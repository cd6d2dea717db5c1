#include "tools/common/memory_caps.h"

#include <algorithm>

#include "tools/common/text.h"

namespace pt::tools {

Result<DeviceId> DeviceMeant(const Platform& platform, const std::string& name, const std::string& flag) {
  const DeviceId device = FindDevice(platform, name);
  if (device.valid()) return device;
  std::string known;
  for (const Device& row : platform.devices) known += (known.empty() ? "" : ", ") + row.name;
  return MakeError(ErrorCode::kUsage, "usage.device", flag + ": no device is called \"" + name + "\"",
                   "one of " + known);
}

Result<MemoryCaps> MemoryCapsOf(std::span<const std::string> texts, const Platform& platform) {
  MemoryCaps caps;
  for (const std::string& text : texts) {
    PT_ASSIGN(const auto pair, ParseAssignment(text, "--memory"));
    PT_ASSIGN(const DeviceId device, DeviceMeant(platform, pair.first, "--memory"));
    PT_ASSIGN(caps[device], ParseBytes(pair.second, "--memory"));
  }
  return caps;
}

Status HoldToCaps(const MemoryCaps& caps, const Platform& platform, const Plan& plan, SessionOptions& options) {
  uint64_t elsewhere = 0;  // of all devices but the host
  for (const auto& [device, arena] : plan.memory) {
    if (!IsHost(device) && __builtin_add_overflow(elsewhere, arena.bytes, &elsewhere)) elsewhere = UINT64_MAX;
    const auto cap = caps.find(device);
    if (cap == caps.end() || arena.bytes <= cap->second) continue;
    const std::string& name = platform.device(device).name;
    Error error = MakeError(ErrorCode::kOutOfMemory, "run.memory_cap",
                            "a run of this plan needs " + std::to_string(arena.bytes) + " bytes on " + name +
                                ", --memory allows " + std::to_string(cap->second),
                            "pt-plan --memory looks for a plan that needs less");
    error.device = name;
    return error;
  }
  const auto host = caps.find(kHostDevice);
  if (host == caps.end()) return {};
  // The session's limit is one of all devices together: what it leaves beside the plan's own is the host's.
  uint64_t all = 0;
  if (__builtin_add_overflow(host->second, elsewhere, &all)) all = UINT64_MAX;
  all = std::max<uint64_t>(all, 1);  // 0 means no limit
  options.run_bytes = options.run_bytes == 0 ? all : std::min(options.run_bytes, all);
  return {};
}

}  // namespace pt::tools
