// A DequantizeLinear with several readers becomes one for each: it costs little, and a group that takes integers takes
// it along, which it can only where nothing else needs the result. Of dequantised constants, which are folded, only
// what products of integers and packed products read is given a copy.
#include "lib/transform/edit.h"
#include "lib/transform/integer_products.h"
#include "lib/transform/packed_products.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/linear_quantisation.h"

namespace pt {

Result<std::optional<Graph>> SplitDequantisation(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.node(NodeId(n));
    if (!IsDequantisation(node) || node.outputs.size() != 1) continue;
    const Value& real = graph.value(node.outputs[0]);
    const bool constant = graph.value(node.inputs[0]).is_constant();
    size_t left = real.uses.size() + (real.is_graph_output ? 1 : 0);
    for (const Use& use : real.uses) {
      if (left < 2) break;
      // What captures it reads it in a nested graph.
      if (use.input >= graph.node(use.node).formal_inputs) continue;
      if (constant && !IsReadByIntegerProduct(graph, node, use) && !IsReadByPackedProduct(graph, NodeId(n), use))
        continue;
      Node copy = node;
      copy.outputs = {builder.AddValue("", real.type)};
      builder.node(use.node).inputs[use.input] = copy.outputs[0];
      builder.AddNode(std::move(copy));
      --left;
      changed = true;
    }
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
