#include "test/testing/evaluate_graph.h"

#include "partitiontuner/backend/libraries.h"

namespace pt::testing {

Result<std::vector<Tensor>> EvaluateGraph(const Graph& graph, std::span<const Tensor> inputs, const AfterNode& after) {
  std::vector<Tensor> values(graph.values().size());
  for (size_t v = 0; v < values.size(); ++v) {
    if (graph.values()[v].is_constant()) values[v] = *graph.values()[v].constant;
  }
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].index()] = inputs[i];
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    std::vector<Tensor> operands;
    for (ValueId input : node.inputs) operands.push_back(input.valid() ? values[input.index()] : Tensor());
    Result<std::vector<Tensor>> results = EvaluateNode(graph, NodeId(n), operands);
    if (!results.ok()) {
      Error error = std::move(results).error();
      error.message = NodeLabel(graph, NodeId(n)) + ": " + error.message;
      return error;
    }
    if (after) after(node, *results);
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o].valid()) values[node.outputs[o].index()] = (*results)[o];
    }
  }
  return values;
}

std::vector<Tensor> OutputsOf(const Graph& graph, const std::vector<Tensor>& values) {
  std::vector<Tensor> outputs;
  for (ValueId output : graph.outputs()) outputs.push_back(values[output.index()]);
  return outputs;
}

}  // namespace pt::testing
