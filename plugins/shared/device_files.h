// Platform files that describe a device of another program's runtime: {"version": 1, "kind": K, NAME: "CPU", STREAMS:
// 2, "calls": RULES}, where plugins differ in the two names; the last two fields may be absent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/backend/backends.h"

namespace pt::plugins {

// How a plugin calls these fields.
struct DeviceFileForm {
  std::string_view plugin;   // begins the ids of errors
  std::string_view name;     // the field that names the device as the runtime does: "device"
  std::string_view streams;  // the field of how many run at once: "requests"
};

// What a file says of a device; nothing in `what` of one that no file describes.
struct DescribedDevice {
  std::string what;
  std::optional<uint32_t> streams;
  std::optional<CallRules> calls;
};

// Devices by the runtime's names: those that become one by themselves, and those that files describe, whether they are
// there or not; what a file says of one of the former holds. Errors (kInvalidInput): a file that is not one, a device
// that is described twice.
Result<std::map<std::string, DescribedDevice>> DevicesToAdd(std::span<const std::string> by_themselves,
                                                            std::span<const DeviceDescription> files,
                                                            const DeviceFileForm& form);

// kDeviceUnusable: the file describes a device that the runtime does not have, only those.
Error NoSuchDevice(const std::string& name, const DescribedDevice& described, std::span<const std::string> there,
                   const DeviceFileForm& form);

}  // namespace pt::plugins
