// GatherElements whose indices vary along its axis alone takes whole rows: a Gather, which copies them at once. That is
// what caches of one entry are picked with, whose batch is known only when the model's dims are.
#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/axis.h"

namespace pt {
namespace {

// The indices before an Expand has repeated them, where they have one element but along the axis; invalid elsewhere.
ValueId IndicesAlong(const Graph& graph, const Node& node, size_t axis) {
  const ValueId expanded = node.inputs[1];
  const NodeId producer = graph.value(expanded).producer;
  if (!producer.valid() || !IsOp(graph.node(producer), "Expand")) return ValueId();
  const ValueId indices = graph.node(producer).inputs[0];
  const auto few = graph.value(indices).type.static_dims(), all = graph.value(expanded).type.static_dims();
  const auto data = graph.value(node.inputs[0]).type.static_dims();
  if (!few || !all || !data || few->size() != data->size() || all->size() != data->size()) return ValueId();
  for (size_t d = 0; d < few->size(); ++d) {
    const bool fits = d == axis ? (*few)[d] == (*all)[d] : (*few)[d] == 1 && (*all)[d] == (*data)[d];
    if (!fits) return ValueId();
  }
  return indices;
}

}  // namespace

Result<std::optional<Graph>> GatherWholeRows(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.node(NodeId(n));
    if (!IsOp(node, "GatherElements")) continue;
    const Result<size_t> axis = ReadAxis(node, graph.opset(), graph.value(node.inputs[0]).type.dims.size());
    if (!axis.ok()) continue;
    const ValueId indices = IndicesAlong(graph, node, *axis);
    if (!indices.valid()) continue;
    const ValueType& type = graph.value(indices).type;
    const ValueId flat = builder.AddValue("", StaticType(type.type, {(*type.static_dims())[*axis]}));
    AddReshape(builder, indices, flat);
    Node gather = node;
    gather.op = "Gather";
    gather.attributes["axis"] = static_cast<int64_t>(*axis);
    gather.inputs[1] = flat;
    builder.RemoveNode(NodeId(n));
    builder.AddNode(std::move(gather));
    changed = true;
  }
  if (!changed) return {std::nullopt};
  PT_ASSIGN(Graph result, builder.Build(false));
  return {std::optional<Graph>(std::move(result))};
}

}  // namespace pt
