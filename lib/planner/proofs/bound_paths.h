// The bound that prices paths and work together: weights on lanes, on shared resources and on paths through the graph
// that add up to one in each segment, found by playing against the cheapest choices.
#pragma once

#include "lib/planner/proofs/bound_chain.h"

namespace pt {

struct PathsBound {
  double whole_ns = 0;  // of all segments together, as the weights alone show it
  ChainBound chain;     // what some of the weights show of each
};

// All must outlive it. moves: of what crosses borders, too. barred: see Relaxation.
PathsBound BoundByPaths(const Space& space, const Segments& segments, const MoveSegments& moves,
                        const std::vector<bool>* barred = nullptr);

}  // namespace pt
