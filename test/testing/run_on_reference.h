// A graph run node by node on the reference library, without plans.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph.h"

namespace pt::testing {

inline std::vector<Tensor> RunOnReference(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<Tensor> values(graph.values().size());
  for (size_t v = 0; v < values.size(); ++v) {
    if (graph.values()[v].is_constant()) values[v] = *graph.values()[v].constant;
  }
  REQUIRE(inputs.size() == graph.inputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].index()] = inputs[i];
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    std::vector<Tensor> operands;
    for (ValueId input : node.inputs) operands.push_back(input.valid() ? values[input.index()] : Tensor());
    auto results = EvaluateNode(graph, NodeId(n), operands);
    INFO(NodeLabel(graph, NodeId(n)) << ": " << (results.ok() ? "" : ToString(results.error())));
    REQUIRE(results.ok());
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o].valid()) values[node.outputs[o].index()] = (*results)[o];
    }
  }
  std::vector<Tensor> outputs;
  for (ValueId output : graph.outputs()) outputs.push_back(values[output.index()]);
  return outputs;
}

}  // namespace pt::testing
