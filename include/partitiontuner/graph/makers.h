// What a value is made from.
#pragma once

#include <functional>

#include "partitiontuner/graph/graph.h"

namespace pt {

// The last node, in the graph's order, of those that the value is made from and that are wanted; invalid when there is
// none. Linear time.
NodeId LastMaker(const Graph& graph, ValueId value, const std::function<bool(const Node&)>& is_wanted);

}  // namespace pt
