// Between what a Clip keeps its results.
#pragma once

#include <optional>
#include <utility>

#include "partitiontuner/graph/graph.h"

namespace pt::host {

// Attributes before operator set 11, inputs since then; infinite where none is given. nullopt where they are known only
// at run time, are no single float32, or are not in order.
std::optional<std::pair<float, float>> ClipBounds(const Graph& graph, const Node& clip);

}  // namespace pt::host
