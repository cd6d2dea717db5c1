#include "lib/transform/edit.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "partitiontuner/support/checked.h"

namespace pt {

bool IsReshaping(const Node& node) {
  constexpr std::array<std::string_view, 4> kOperators = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  return node.domain.empty() && std::find(kOperators.begin(), kOperators.end(), node.op) != kOperators.end();
}

bool IsUnaryElementwise(const Node& node) {
  constexpr auto kOperators = std::to_array<std::string_view>(
      {"Abs", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal",
       "Relu", "Sigmoid", "Softplus", "Sqrt", "Swish", "Tanh"});
  return node.domain.empty() && node.inputs.size() == 1 && node.outputs.size() == 1 &&
         std::ranges::find(kOperators, node.op) != kOperators.end();
}

bool IsBinaryElementwise(const Node& node) {
  constexpr auto kOperators =
      std::to_array<std::string_view>({"Add", "Div", "Max", "Min", "Mul", "Pow", "PRelu", "Sub"});
  return node.domain.empty() && node.inputs.size() == 2 && node.outputs.size() == 1 &&
         std::ranges::find(kOperators, node.op) != kOperators.end();
}

Tensor SliceOf(const Tensor& whole, size_t axis, int64_t from, int64_t length) {
  std::vector<int64_t> dims = whole.dims();
  const int64_t along = dims[axis];
  dims[axis] = length;
  const int64_t element = BytesOf(whole.type());
  int64_t outer = 1, inner = element;
  for (size_t i = 0; i < axis; ++i) outer *= dims[i];
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const auto at = [&](int64_t line) { return static_cast<size_t>((line * along + from) * inner); };
  const auto bytes = static_cast<size_t>(length * inner);
  if (outer == 1) {  // in one piece: nothing is copied
    auto owner = std::make_shared<const Tensor>(whole);
    return Tensor::FromShared(whole.type(), std::move(dims), owner, owner->bytes().subspan(at(0), bytes)).value();
  }
  std::string copy(static_cast<size_t>(outer) * bytes, '\0');
  for (int64_t line = 0; line < outer; ++line) {
    std::memcpy(copy.data() + static_cast<size_t>(line) * bytes, whole.bytes().data() + at(line), bytes);
  }
  return Tensor::FromBytes(whole.type(), std::move(dims), std::move(copy)).value();
}

std::optional<uint64_t> ResultBytes(const Graph& graph, const Node& node) {
  uint64_t total = 0;
  for (ValueId output : node.outputs) {
    if (!output.valid()) continue;
    const ValueType& type = graph.value(output).type;
    const auto dims = type.static_dims();
    if (!dims) return std::nullopt;
    const auto count = CheckedProduct(*dims);
    const auto bytes = count ? CheckedMul(*count, std::max<int64_t>(1, BytesOf(type.type))) : std::nullopt;
    if (!bytes || __builtin_add_overflow(total, static_cast<uint64_t>(*bytes), &total)) return std::nullopt;
  }
  return total;
}

std::vector<NodeId> ProducerTable(const Graph& graph) {
  std::vector<NodeId> producers(graph.values().size());
  for (size_t i = 0; i < producers.size(); ++i) producers[i] = graph.values()[i].producer;
  return producers;
}

NodeId OnlyReader(const Graph& graph, ValueId value, std::string_view op) {
  const NodeId reader = OnlyReader(graph, value);
  return reader.valid() && IsOp(graph.node(reader), op) ? reader : NodeId();
}

NodeId AddReshape(GraphBuilder& builder, ValueId from, ValueId to) {
  const std::vector<int64_t> dims = *builder.graph().value(to).type.static_dims();
  Node node;
  node.op = "Reshape";
  node.attributes["allowzero"] = int64_t{1};
  node.inputs = {from, builder.AddConstant("", Tensor::Int64({static_cast<int64_t>(dims.size())}, dims))};
  node.outputs = {to};
  return builder.AddNode(std::move(node));
}

bool BypassNode(GraphBuilder& builder, std::vector<NodeId>& producers, NodeId node, ValueId from, ValueId to) {
  if (!builder.graph().value(from).is_graph_output) {
    builder.ReplaceUses(from, to);
    builder.RemoveNode(node);
    return true;
  }
  const NodeId maker = producers[to.index()];
  if (!maker.valid() || builder.graph().value(to).is_graph_output) return false;
  builder.RemoveNode(node);
  builder.ReplaceUses(to, from);
  std::vector<ValueId>& outputs = builder.node(maker).outputs;
  std::replace(outputs.begin(), outputs.end(), to, from);
  producers[from.index()] = maker;
  producers[to.index()] = NodeId();
  return true;
}

std::vector<int64_t> EqualParts(int64_t count, uint32_t parts, int64_t unit) {
  const int64_t units = count / unit;
  std::vector<int64_t> lengths(parts, units / parts * unit);
  for (int64_t i = 0; i < units % parts; ++i) lengths[static_cast<size_t>(i)] += unit;
  return lengths;
}

Result<std::optional<Graph>> BuildIfChanged(GraphBuilder& builder, bool changed) {
  if (!changed) return {std::nullopt};
  PT_ASSIGN(Graph result, builder.Build(false));
  return {std::optional<Graph>(std::move(result))};
}

void MergeSources(GraphBuilder& builder, NodeId to, NodeId from) {
  const std::vector<Source> more = builder.graph().node(from).source;
  std::vector<Source>& source = builder.node(to).source;
  source.insert(source.end(), more.begin(), more.end());
}

}  // namespace pt
