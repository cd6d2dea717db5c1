// Lanes: where steps stand in pictures of timelines. Each host core has one, and each other unit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// `count` lanes from `first` on.
struct LaneRun {
  uint32_t first = 0, count = 0;
  friend bool operator==(const LaneRun&, const LaneRun&) = default;
};

struct StepLanes {
  std::vector<std::string> names;                  // "core 0" first, by number; then "sim:0#0"
  std::map<UnitId, std::vector<LaneRun>> of_unit;  // a step on several cores covers the lanes of all
};

// Of the units on which steps of the plan take time. The plan's units are those of the platform.
StepLanes StepLanesOf(const Platform& platform, const Plan& plan);

}  // namespace pt
