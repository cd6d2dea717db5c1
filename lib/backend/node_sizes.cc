#include "lib/backend/node_sizes.h"

#include "lib/backend/reference/kernel.h"

namespace pt {

Result<std::vector<ValueType>> OutputTypes(const Graph& graph, NodeId node, std::span<const KnownInput> inputs) {
  if (inputs.size() != graph.node(node).inputs.size()) {
    return MakeError(ErrorCode::kInternal, "sizes.inputs", "a node's sizes are asked with the wrong number of inputs");
  }
  reference::Given given;
  given.holds_outputs = true;
  for (const KnownInput& input : inputs) given.inputs.push_back({input.type, input.dims, input.content});
  PT_ASSIGN(const reference::PreparedNode prepared, reference::Prepare(graph, node, nullptr, &given));
  std::vector<ValueType> types;
  for (size_t i = 0; i < prepared.out.size(); ++i) {
    const bool is_made = prepared.out[i].present();
    types.push_back(is_made ? StaticType(prepared.out_storage[i], prepared.out[i].dims) : ValueType());
  }
  return types;
}

}  // namespace pt
