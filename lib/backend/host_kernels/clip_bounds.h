// Between what a Clip or a Relu keeps its results.
#pragma once

#include <optional>

#include "lib/backend/host_kernels/kernels/bounds.h"
#include "partitiontuner/graph/graph.h"

namespace pt::host {

// Attributes before operator set 11, inputs since then; infinite where none is given. nullopt where they are known only
// at run time, are not a single float32, or are not in order.
std::optional<Bounds> ClipBounds(const Graph& graph, const Node& clip);

// A Relu or such a Clip.
struct ClippingNode {
  NodeId node;
  Bounds bounds;
};
// The one behind a value that nothing else reads; nullopt where there is none.
std::optional<ClippingNode> ActivationBehind(const Graph& graph, ValueId value);

}  // namespace pt::host
