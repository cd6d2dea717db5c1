// A whole graph on the reference library, node by node and without plans: what everything else is held to.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt::testing {

// Called with each node and what it has made, which it may change before others read it.
using AfterNode = std::function<void(const Node&, std::vector<Tensor>& results)>;

// inputs: one for each graph input. Results: one for each value of the graph.
Result<std::vector<Tensor>> EvaluateGraph(const Graph& graph, std::span<const Tensor> inputs,
                                          const AfterNode& after = {});
// Of those, the graph's outputs.
std::vector<Tensor> OutputsOf(const Graph& graph, const std::vector<Tensor>& values);

}  // namespace pt::testing
