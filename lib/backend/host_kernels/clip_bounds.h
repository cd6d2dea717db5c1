// Between what a Clip or a Relu keeps its results.
#pragma once

#include <optional>
#include <utility>

#include "partitiontuner/graph/graph.h"

namespace pt::host {

// Attributes before operator set 11, inputs since then; infinite where none is given. nullopt where they are known only
// at run time, are no single float32, or are not in order.
std::optional<std::pair<float, float>> ClipBounds(const Graph& graph, const Node& clip);

// A Relu or such a Clip.
struct Activation {
  NodeId node;
  float low = 0, high = 0;
};
// The one behind a value that nobody else reads; nullopt where there is none.
std::optional<Activation> ActivationBehind(const Graph& graph, ValueId value);

}  // namespace pt::host
