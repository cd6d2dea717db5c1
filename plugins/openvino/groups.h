// Which groups are worth offering.
#pragma once

#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt::openvino {

// Of the nodes that are taken (by index), besides each alone:
//  - maximal groups: what hangs together without a way through a node that is not taken;
//  - the chains within them, where every result but the last is read by the next node alone.
// Each is convex, ascending, of two nodes or more, and there once; together they have at most twice as many nodes as
// the graph. Linear time.
std::vector<std::vector<NodeId>> NaturalGroups(const Graph& graph, const std::vector<bool>& taken);

}  // namespace pt::openvino
