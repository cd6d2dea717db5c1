// PlanMemory: places every instance and scratch buffer of a plan in one arena a device, from
// happens-before, not list order. Views, in-place results and slices of concatenations where candidates allow.
//
// External instances get no placement, since the run uses the caller's buffers for them: on device 0, row-major, in the
// storage type of their value, (1) every instance of a graph input and (2) the instance of a graph output that a step
// makes. The executor reads (1) and writes (2) in place. An output of kind (2) that shares bytes with others
// (a view, an in-place result, a slice) is placed like any other and copied to the caller at the run's end. Inputs
// (1) are never written: nothing is placed onto them, no in-place result and no view. Outputs live to the run's end.
#pragma once

#include "partitiontuner/plan/plan.h"

namespace pt {

// Fills plan.memory. Errors: a required alias that cannot hold (kInfeasible), overflow, over `cap_bytes` of a
// device (kOutOfMemory).
Status PlanMemory(const Graph& graph, const Platform& platform, Plan& plan,
                  const std::map<DeviceId, uint64_t>& cap_bytes = {});

}  // namespace pt
