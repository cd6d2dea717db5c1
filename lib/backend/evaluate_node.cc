#include "lib/backend/reference/kernel.h"
#include "partitiontuner/backend/libraries.h"

namespace pt {

Result<std::vector<Tensor>> EvaluateNode(const Graph& graph, NodeId node, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.node(node).inputs.size()) {
    return MakeError(ErrorCode::kInternal, "evaluate.inputs", "a node is evaluated with the wrong number of inputs");
  }
  reference::Given given;
  for (const Tensor& input : inputs) given.inputs.push_back({input.type(), input.dims(), input});
  PT_ASSIGN(const reference::PreparedNode prepared, reference::Prepare(graph, node, nullptr, &given));
  return reference::Evaluate(prepared, nullptr);
}

}  // namespace pt
