// Groups of nodes whose sizes are not known until run time that are worth offering as one step. Which of them some
// library then runs as one kernel shows in the run, when there are sizes to ask about.
#pragma once

#include <span>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt::run_time {

// Of the nodes for which `able` is true: chains of elementwise operators, alone and behind a product or a convolution,
// and attention. Ascending nodes, none of a single node.
std::vector<std::vector<NodeId>> Groups(const Graph& graph, const std::vector<bool>& able);

// Whether one of the nodes has kernels beside the reference library's only where NaN may be lost.
bool MayLoseNan(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace pt::run_time
