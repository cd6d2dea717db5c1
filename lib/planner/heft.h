// HEFT over groups: heterogeneous earliest finish time, with insertion into idle times. See docs/planners.md.
#pragma once

#include <functional>

#include "lib/planner/schedule.h"

namespace pt {

struct HeftRules {
  // Options that may be chosen; empty = all. Every group of the cover needs one.
  std::function<bool(const Option&)> allowed;
};

// Places and orders the groups of a legal solution anew. Empty when the space's deadline is over and there is a plan.
Solution ScheduleByHeft(const Space& space, const Solution& cover, const HeftRules& rules);

}  // namespace pt
