// The bound that prices paths and work together: weights on lanes, on shared resources and on paths through the graph
// that add up to one in each segment, found by playing against the cheapest choices.
#pragma once

#include "lib/planner/series_cuts.h"

namespace pt {

// In ns. Segments are chained: what ends one is moved, from where it was made, within the next.
double BoundByPaths(const Space& space, const Segments& segments);

}  // namespace pt
