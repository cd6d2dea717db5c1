// Nodes whose tensors have no size before the run.
#pragma once

#include <span>

#include "partitiontuner/graph/graph.h"

namespace pt {

// Every tensor that the nodes read or make has a static size, and none of them runs a nested graph. What is not so is
// computed on the host from tensors that the run finds memory for; its time depends on data and is never measured.
bool IsSizedBeforeRun(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace pt
