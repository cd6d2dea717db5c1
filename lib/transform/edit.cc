#include "lib/transform/edit.h"

#include <algorithm>
#include <array>

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

void MergeSources(GraphBuilder& builder, NodeId to, NodeId from) {
  const std::vector<Source> more = builder.graph().node(from).source;
  std::vector<Source>& source = builder.node(to).source;
  source.insert(source.end(), more.begin(), more.end());
}

}  // namespace pt
