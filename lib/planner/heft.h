// HEFT over groups: heterogeneous earliest finish time, with insertion into idle times. See docs/planners.md.
#pragma once

#include <functional>

#include "lib/planner/schedule.h"

namespace pt {

struct HeftRules {
  // Options that may be chosen; empty = all. Every group of the cover needs one.
  std::function<bool(const Option&)> allowed;
  // What an option must end earlier than another to be chosen; empty = nothing.
  std::function<int64_t(const Option&)> price_ns;
};

// Places and orders the groups of a legal solution anew.
Solution ScheduleByHeft(const Space& space, const Solution& cover, const HeftRules& rules);

}  // namespace pt
