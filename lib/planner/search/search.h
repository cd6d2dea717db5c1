// search with what it is made of told apart, for comparisons. See docs/planners.md.
#pragma once

#include "lib/planner/solve.h"

namespace pt {

struct SearchRules {
  // Small models are given to the exact search first. Without that, whatever the size, starts and moves alone.
  bool exactly = true;
  // Stretches between few values are solved one by one on the way.
  bool by_stretches = true;
};

// Errors: as those of the planner `search`.
Result<Solved> SearchBy(const Space& space, const SearchRules& rules);

}  // namespace pt
