// Frontiers: where a graph in depth-first order can be taken apart, because few values lead from what is before to what
// is behind.
#pragma once

#include <span>
#include <vector>

#include "lib/planner/schedule/space.h"

namespace pt {

// Behind a position of Space::order(). No group with options reaches across.
struct Frontier {
  uint32_t behind = 0;
  std::vector<ValueId> live;  // made up to there and read behind it, ascending; inputs of the graph are not counted
};

inline constexpr size_t kMostLiveValues = 3;

// Frontiers of at most kMostLiveValues, ascending, so that stretches between them have about `nodes` nodes: of those
// within reach the one with the fewest values, of these the last. Where there is none within reach the stretch is
// longer. The end is not one of them. Linear in the graph.
std::vector<Frontier> FindFrontiers(const Space& space, uint32_t nodes);

// The order's stretches between frontiers, first to last.
std::vector<std::span<const NodeId>> Stretches(const Space& space, std::span<const Frontier> frontiers);

}  // namespace pt
