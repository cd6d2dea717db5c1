#include "partitiontuner/graph/makers.h"

namespace pt {

NodeId LastMaker(const Graph& graph, ValueId value, const std::function<bool(const Node&)>& is_wanted) {
  std::vector<bool> needed(graph.nodes().size(), false);
  const auto need = [&](ValueId id) {
    if (id.valid() && graph.value(id).producer.valid()) needed[graph.value(id).producer.index()] = true;
  };
  need(value);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = graph.nodes()[i];
    if (is_wanted(node)) return NodeId(i);
    for (const ValueId input : node.inputs) need(input);
  }
  return {};
}

}  // namespace pt
