// Between what a Clip or a Relu keeps its results.
#pragma once

#include <optional>
#include <utility>

#include "partitiontuner/graph/graph.h"

namespace pt::host {

// Attributes before operator set 11, inputs since then; infinite where none is given. nullopt where they are known only
// at run time, are no single float32, or are not in order.
std::optional<std::pair<float, float>> ClipBounds(const Graph& graph, const Node& clip);
// Of a Relu or such a Clip; nullopt for other nodes.
std::optional<std::pair<float, float>> ActivationBounds(const Graph& graph, const Node& node);

}  // namespace pt::host
