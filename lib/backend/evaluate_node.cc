#include "lib/backend/reference/kernel.h"
#include "partitiontuner/backend/libraries.h"

namespace pt {

Result<std::vector<Tensor>> EvaluateNode(const Graph& graph, NodeId node, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.node(node).inputs.size()) {
    return MakeError(ErrorCode::kInternal, "evaluate.inputs", "a node is evaluated with the wrong number of inputs");
  }
  const std::vector<Tensor> values(inputs.begin(), inputs.end());
  PT_ASSIGN(const reference::Prepared prepared, reference::Prepare(graph, node, nullptr, &values));
  return reference::Evaluate(prepared, nullptr);
}

}  // namespace pt
