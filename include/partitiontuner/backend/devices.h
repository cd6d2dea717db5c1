// Drivers of the built-in devices, and what is needed to run kernels outside a session.
#pragma once

#include <memory>

#include "partitiontuner/backend/backend.h"

namespace pt {

// The host: 64-byte aligned memory; copies run at once on the calling core.
std::unique_ptr<DeviceDriver> MakeHostDriver(DeviceId id);

// A simulated device of the platform: host memory behind its back, streams and events with a virtual clock. Everything
// is computed at once on the core that enqueues; Event::virtual_ns tells when it would have been done. Copies cost
// what the link of their direction says.
std::unique_ptr<DeviceDriver> MakeSimulatedDriver(const Platform& platform, DeviceId id);

// A team of that width that runs every body on the calling core, one index after the other: for compiling,
// for tests and for evaluating constants.
std::unique_ptr<Team> MakeSerialTeam(uint32_t width = 1);

// The host's stream on that team (borrowed).
std::unique_ptr<Stream> MakeHostStream(Team& team);

// For kernels on their own whose outputs are all static: asking for storage of an output is an error, temporary memory
// comes from the heap, nothing stops them.
RunContext StaticRun(Stream& stream);

// Slots of views that the caller keeps in place for as long as the bound kernel lives.
std::vector<const TensorView*> SlotsOf(std::span<const TensorView> views);

}  // namespace pt
