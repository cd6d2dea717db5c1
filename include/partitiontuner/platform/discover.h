// Finds the host: cores this process may use, caches, NUMA nodes, and the units they suggest.
#pragma once

#include <cstdint>
#include <string>

#include "partitiontuner/platform/platform.h"

namespace pt {

// How much of the host is used.
struct DiscoverOptions {
  uint32_t max_cores = 0;  // 0 = all allowed by the affinity mask and control group
};

// The host as device "cpu": one resource a core, one unit a single core (class "cpu/1"), one of all
// cores ("cpu/N"), and what the topology suggests between (cores sharing a last-level cache, NUMA nodes).
// Reads the affinity mask first; never fails for lack of rights.
Result<Platform> DiscoverHost(const DiscoverOptions& options = {});

// The instruction sets of the processor this runs on, in the words of Device::isa.
std::string HostInstructionSets();

// Adds a simulated device described by a platform file (profiles/*.json: name, memory, links, rates,
// streams): its unit(s), both links with their copy engines, its rates. The driver core is the last
// allowed core.
Status AddSimulatedDevice(Platform& platform, const Json& description, std::string_view what);

}  // namespace pt
