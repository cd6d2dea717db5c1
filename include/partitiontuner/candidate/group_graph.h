// GroupGraph: a group of nodes cut out of its graph.
#pragma once

#include <span>

#include "partitiontuner/graph/graph.h"

namespace pt {

// The group as a graph of its own, which computes what the group does: its inputs are GroupInputs(graph, nodes), its
// outputs GroupOutputs(graph, nodes), in their order; it has the constants that the nodes read; names, types, opset and
// domains stay, and nodes keep their order. nodes: ascending ids. Linear in the group. Errors (kInvalidInput): no
// nodes, ids that do not ascend or are not nodes of the graph, a group that is not convex, one whose results nothing
// outside needs.
Result<Graph> GroupGraph(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace pt
