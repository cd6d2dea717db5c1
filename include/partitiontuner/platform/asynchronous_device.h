// How a device with memory of its own and streams becomes part of a platform: what kinds of devices share, simulated or
// real.
#pragma once

#include <cstdint>

#include "partitiontuner/platform/platform.h"

namespace pt {

// Adds the device as a resource, one unit class of its name and `streams` units of it ("NAME#0", …), each using an
// equal share of the resource, and the links with the host, each with its copy engine. from and to of the links are set
// here. The units are driven by the last core, since the first is the one that callers of Run lend. Errors
// (kInvalidInput): the name is taken, the platform has no core. On an error the platform is as before.
Result<DeviceId> AddAsynchronousDevice(Platform& platform, Device device, uint32_t streams, Link to_device,
                                       Link from_device);

// Adds the link and its copy engine "FROM>TO", a unit of `device` with a class of its own, since copying costs
// differently each way. The platform has a core.
void AddLinkWithEngine(Platform& platform, DeviceId device, const Link& link);

}  // namespace pt
