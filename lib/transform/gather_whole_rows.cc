// GatherElements whose indices vary along its axis alone takes whole rows: a Gather, which copies them at once. That is
// what caches of one entry are picked with, whose batch is known only when the model's dims are. ScatterElements of
// that kind along the first axis, as networks on graphs add up messages, is a ScatterND.
#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/axis.h"

namespace pt {
namespace {

// The indices before an Expand or Tile has repeated them, where they have one element but along the axis; invalid
// elsewhere. The repeated ones are as large as the data but along the axis.
ValueId IndicesAlong(const Graph& graph, const Node& node, size_t axis) {
  const ValueId expanded = node.inputs[1];
  const NodeId producer = graph.value(expanded).producer;
  if (!producer.valid()) return ValueId();
  if (!IsOp(graph.node(producer), "Expand") && !IsOp(graph.node(producer), "Tile")) return ValueId();
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

// The node in place of `node`, whose indices vary along the axis alone; nothing where there is no such operator.
std::optional<Node> RowsOf(const Graph& graph, GraphBuilder& builder, const Node& node, size_t axis, ValueId indices) {
  const ValueType& type = graph.value(indices).type;
  const int64_t count = (*type.static_dims())[axis];
  const bool gathers = IsOp(node, "GatherElements");
  // ScatterND has no axis, and indices of int64 alone.
  if (!gathers && (axis != 0 || type.type != DataType::kInt64)) return std::nullopt;
  const ValueId flat =
      builder.AddValue("", StaticType(type.type, gathers ? std::vector{count} : std::vector{count, int64_t{1}}));
  AddReshape(builder, indices, flat);
  Node rows = node;
  rows.op = gathers ? "Gather" : "ScatterND";
  rows.inputs[1] = flat;
  if (gathers) {
    rows.attributes["axis"] = static_cast<int64_t>(axis);
  } else {
    rows.attributes.erase("axis");
  }
  return rows;
}

}  // namespace

Result<std::optional<Graph>> GatherWholeRows(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.node(NodeId(n));
    if (!IsOp(node, "GatherElements") && !IsOp(node, "ScatterElements")) continue;
    const Result<size_t> axis = ReadAxis(node, graph.opset(), graph.value(node.inputs[0]).type.dims.size());
    if (!axis.ok()) continue;
    const ValueId indices = IndicesAlong(graph, node, *axis);
    if (!indices.valid()) continue;
    std::optional<Node> rows = RowsOf(graph, builder, node, *axis, indices);
    if (!rows) continue;
    builder.RemoveNode(NodeId(n));
    builder.AddNode(std::move(*rows));
    changed = true;
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
