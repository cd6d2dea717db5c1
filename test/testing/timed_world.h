// Worlds for cases worked by hand: nothing takes time but what the case says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/testing/planning_world.h"

namespace pt::testing {

// A group that runs row-major on both cores (cpu[0-1]) and on the accelerator (acc:0#0), where its time is not 0.
struct TimedGroup {
  std::vector<uint32_t> nodes;
  int64_t host_ns = 0, accelerator_ns = 0;
};

// Takes overheads, waits and fetching out of the world's costs; every copy takes `copy_ns`.
void LeaveCopiesOnly(World& world, int64_t copy_ns);

// TwoCores() without overheads and waits; every copy takes `copy_ns`. `graph`: see ParseGraph.
World TimedWorld(const std::string& graph, const std::vector<TimedGroup>& groups, int64_t copy_ns);

}  // namespace pt::testing
