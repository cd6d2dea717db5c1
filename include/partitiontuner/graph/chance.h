// Which results are left to chance: ONNX defines their distribution, not the numbers.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

// Whether the node, or one in its nested graphs, draws at random: Bernoulli, Multinomial, RandomNormal, RandomUniform
// and their Like forms; Dropout unless it is known to be at inference.
bool DrawsAtRandom(const Graph& graph, const Node& node);

// Whether such a node is among those that the value is made from. Linear time.
bool DependsOnChance(const Graph& graph, ValueId value);

}  // namespace pt
