// Nodes by what users call them.
#pragma once

#include <string_view>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// Nodes meant by an index, or by a glob over node names, output names and the names in the model file. In the order of
// the graph; none where nothing is called so.
std::vector<NodeId> FindNodes(const Graph& graph, std::string_view pattern);

}  // namespace pt
