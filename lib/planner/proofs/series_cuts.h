// Series cuts: where everything before is over when anything behind starts, whatever the plan.
#pragma once

#include <vector>

#include "lib/planner/schedule/space.h"

namespace pt {

// Nodes in different segments never run at the same time: all of one are before all of the next.
struct Segments {
  std::vector<uint32_t> of_node;  // kNothing: left out, may run at any time
  uint32_t count = 1;
};

// Cuts behind nodes that come after all that is before them and before all that is behind: other nodes that are not
// left out, that is. Inputs that pass by a cut do no harm. Groups must not reach across. Linear in the graph.
Segments FindSegments(const Space& space, const std::vector<bool>& left_out);

// All nodes in one.
Segments OneSegment(const Space& space);

}  // namespace pt
