// What an asynchronous device costs: runs subjects on streams of it, timed by its own events.
#pragma once

#include "lib/profiler/runner.h"
#include "partitiontuner/exec/cancel_token.h"

namespace pt {

// For units that are streams of a device. Inputs reach it by copies only; between two samples the device copies as many
// bytes within its memory as lie between two uses of a constant. cancel may be null; all must outlive the runner.
Result<std::unique_ptr<DeviceRunner>> MakeDeviceRunner(Machine& machine, UnitId unit, uint64_t reuse_distance,
                                                       const CancelToken* cancel);

}  // namespace pt
