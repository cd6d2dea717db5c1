// The trade of time for memory: plans of one model, each with less memory than the ones that are faster.
#pragma once

#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// The arenas of all devices together, in bytes: what the front counts as a plan's memory. Weights are not in it.
uint64_t TotalMemory(const Plan& plan);

// Those plans that no other beats in both, the fastest first: times rise strictly, memory falls strictly.
std::vector<Plan> MemoryFrontOf(std::vector<Plan> plans);

}  // namespace pt
