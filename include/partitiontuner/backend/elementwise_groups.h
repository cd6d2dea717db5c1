// Which elementwise nodes are worth running as one kernel, whatever library runs them.
#pragma once

#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// Groups worth offering of the nodes for which `able` is true: each grown from a node along values that nothing else
// needs, with the branches that join on the way. Ascending nodes, no repeats, none of a single node.
std::vector<std::vector<NodeId>> ElementwiseGroups(const Graph& graph, const std::vector<bool>& able);
// What grows from one node, whether `able` or not: each group a part of the next.
std::vector<std::vector<NodeId>> GrowElementwise(const Graph& graph, const std::vector<bool>& able, NodeId start);

}  // namespace pt
