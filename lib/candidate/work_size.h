// Arithmetic of one node, estimated from its operator and the shapes around it.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

// 0 where shapes are unknown or only bytes move.
double FlopsOf(const Graph& graph, NodeId id);

}  // namespace pt
