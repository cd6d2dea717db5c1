// Which nodes may become a graph of cuDNN's, and which groups of them are worth offering.
#pragma once

#include <span>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt::cuda {

bool IsDnnConvolution(const Node& node);
bool IsDnnPool(const Node& node);
bool IsDnnNormalisation(const Node& node);  // of rows or images by their own statistics: not BatchNormalization
// What cuDNN computes behind a convolution in the same kernel.
bool IsDnnActivation(const Node& node);
// Whether the node multiplies what the Sigmoid made by what that was made of.
bool MultipliesItself(const Node& sigmoid, const Node& node);

// Groups of more than one node worth offering: each convolution and normalisation with what follows it, as far as
// nothing else needs what is between; and nodes that spell attention out.
std::vector<std::vector<NodeId>> DnnGroups(const Graph& graph);
// Whether a graph of cuDNN's can be made of nodes of these operators.
bool MayBeDnnGraph(const Graph& graph, std::span<const NodeId> nodes);
// Whether they may run channels-last: all tensors of the first input's rank then do.
bool MayBeChannelsLast(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace pt::cuda
