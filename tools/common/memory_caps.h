// Flags that name devices of the machine, and --memory above all: what plans and runs may take there.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "partitiontuner/exec/session.h"

namespace pt::tools {

using MemoryCaps = std::map<DeviceId, uint64_t>;  // bytes

// Errors: kUsage, with the devices there are.
Result<DeviceId> DeviceMeant(const Platform& platform, const std::string& name, const std::string& flag);

// What --memory DEVICE=SIZE allows on each device; the last word on a device counts. Errors: kUsage.
Result<MemoryCaps> MemoryCapsOf(std::span<const std::string> texts, const Platform& platform);

// Holds runs of the plan to the caps: what it places on each device now, what only the run sizes, which lies on the
// host, by `options`. Errors: kOutOfMemory, with the figure.
Status HoldToCaps(const MemoryCaps& caps, const Platform& platform, const Plan& plan, SessionOptions& options);

}  // namespace pt::tools
