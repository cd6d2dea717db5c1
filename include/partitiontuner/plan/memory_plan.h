// PlanMemory: places every instance and scratch buffer of a plan in one arena a device, from
// happens-before, not list order. Views, in-place results and slices of concatenations where candidates allow.
#pragma once

#include "partitiontuner/plan/plan.h"

namespace pt {

// Fills plan.memory. Errors: a required alias that cannot hold (kInfeasible), overflow, over `cap_bytes` of a
// device (kOutOfMemory).
Status PlanMemory(const Graph& graph, const Platform& platform, Plan& plan,
                  const std::map<DeviceId, uint64_t>& cap_bytes = {});

}  // namespace pt
