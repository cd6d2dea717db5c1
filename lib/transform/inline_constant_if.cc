// If with a constant condition: the branch taken stands in its place.
#include "lib/transform/bodies.h"
#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

const Subgraph* BranchTaken(const Graph& graph, const Node& node) {
  if (!IsOp(node, "If") || node.inputs.empty() || !node.inputs[0].valid()) return nullptr;
  const Value& condition = graph.value(node.inputs[0]);
  if (!condition.is_constant() || condition.constant->type() != DataType::kBool ||
      condition.constant->element_count() != 1) {
    return nullptr;
  }
  const std::string_view wanted = condition.constant->ToInts()[0] != 0 ? "then_branch" : "else_branch";
  for (const Subgraph& subgraph : node.subgraphs) {
    if (subgraph.attribute == wanted) return &subgraph;
  }
  return nullptr;
}

// The branch's result i must be a value of its own that a node in it makes, so that the If's output can take its
// place; a branch that returns a captured value, a constant or one value twice gets an Identity instead.
void Inline(GraphBuilder& builder, NodeId id, const Subgraph& taken) {
  const Node outer = builder.graph().node(id);
  const Graph& body = *taken.graph;
  std::vector<ValueId> inner_to_outer = OutsideOf(builder, outer, taken);
  AddBody(builder, body, inner_to_outer);
  builder.RemoveNode(id);
  for (size_t i = 0; i < outer.outputs.size(); ++i) {
    if (!outer.outputs[i].valid()) continue;
    Node identity;
    identity.op = "Identity";
    identity.inputs = {inner_to_outer[body.outputs()[i].index()]};
    identity.outputs = {outer.outputs[i]};
    identity.source = outer.source;
    builder.AddNode(std::move(identity));
  }
}

}  // namespace

Result<std::optional<Graph>> InlineConstantIf(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Subgraph* taken = BranchTaken(graph, graph.node(NodeId(i)));
    if (!taken || taken->graph->outputs().size() != graph.node(NodeId(i)).outputs.size()) continue;
    Inline(builder, NodeId(i), *taken);
    changed = true;
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
