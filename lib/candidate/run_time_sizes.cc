#include "partitiontuner/candidate/run_time_sizes.h"

#include <algorithm>

namespace pt {

bool IsSizedBeforeRun(const Graph& graph, std::span<const NodeId> nodes) {
  const auto sized = [&](ValueId id) {
    if (!id.valid()) return true;
    const ValueType& type = graph.value(id).type;
    return type.type != DataType::kString && (graph.value(id).is_constant() || type.is_static());
  };
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.subgraphs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), sized) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), sized);
  });
}

}  // namespace pt
