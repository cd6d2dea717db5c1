// Every planner that takes any model, by a name that can be planned with.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/platform/platform.h"

namespace pt {

// The table of planners in its order, with an argument where one is needed: "single:cpu" for each device, "random:7"
// for the seed; and their variants behind them: "partitiontuner:paper".
std::vector<std::string> PlannerNames(const Platform& platform, uint64_t seed);

}  // namespace pt
