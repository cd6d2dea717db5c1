// HEFT over groups: heterogeneous earliest finish time, with insertion into idle times. See docs/planners.md.
#pragma once

#include <functional>
#include <vector>

#include "lib/planner/schedule/schedule.h"

namespace pt {

struct HeftRules {
  // Options that may be chosen; empty = all. Every group of the cover needs one.
  std::function<bool(const Option&)> allowed;
  // Groups are taken when all that they read from is placed, those of the highest rank first: by position in the cover.
  // Empty = upward rank.
  std::vector<double> rank;
  // What an option must end earlier than another to be chosen; empty = nothing.
  std::function<int64_t(const Option&)> price_ns;
};

// Places and orders the groups of a legal solution anew. Empty when the space's deadline is over and there is a plan.
Solution ScheduleByHeft(const Space& space, const Solution& cover, const HeftRules& rules);

// The mean cost of moving a value between two different devices, in its first form.
double MeanMove(const Space& space, ValueId value);

}  // namespace pt
