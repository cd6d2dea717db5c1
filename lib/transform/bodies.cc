#include "lib/transform/bodies.h"

#include "partitiontuner/graph/operators/repetition.h"

namespace pt {
namespace {

std::optional<int64_t> TripsOfLoop(const Graph& graph, const Node& node) {
  if (node.formal_inputs < 2 || node.subgraphs.size() != 1) return std::nullopt;
  const Graph& body = *node.subgraphs[0].graph;
  if (body.inputs().size() < 2 || body.outputs().empty()) return std::nullopt;
  if (node.inputs[1].valid() && OneConstant(graph, node.inputs[1]) != 1) return std::nullopt;
  const ValueId goes_on = body.outputs()[0];
  if (goes_on != body.inputs()[1] && OneConstant(body, goes_on) != 1) return std::nullopt;
  return OneConstant(graph, node.inputs[0]);
}

std::optional<int64_t> TripsOfScan(const Graph& graph, const Node& node) {
  const Result<ScanNode> scan = ReadScan(node);
  if (graph.opset() < 9 || !scan.ok() || node.subgraphs.size() != 1) return std::nullopt;
  std::optional<int64_t> trips;
  for (size_t i = 0; i < scan->scanned; ++i) {
    const ValueId input = node.inputs[scan->carried + i];
    const auto dims = input.valid() ? graph.value(input).type.static_dims() : std::nullopt;
    if (!dims) return std::nullopt;
    const std::optional<size_t> axis = scan->InputSlicing(i).AxisIn(dims->size());
    if (!axis) return std::nullopt;
    const int64_t length = (*dims)[*axis];
    if (trips && *trips != length) return std::nullopt;
    trips = length;
  }
  return trips;
}

}  // namespace

std::optional<int64_t> OneConstant(const Graph& graph, ValueId id) {
  if (!id.valid() || !graph.value(id).is_constant()) return std::nullopt;
  const Tensor& tensor = *graph.value(id).constant;
  const bool is_number = tensor.type() == DataType::kInt64 || tensor.type() == DataType::kBool;
  if (!is_number || tensor.element_count() != 1) return std::nullopt;
  return tensor.ToInts()[0];
}

std::vector<ValueId> OutsideOf(GraphBuilder& builder, const Node& node, const Subgraph& subgraph) {
  const Graph& body = *subgraph.graph;
  std::vector<ValueId> outside(body.values().size());
  for (size_t i = 0; i < body.captured().size(); ++i) {
    outside[body.captured()[i].index()] = node.inputs[subgraph.captures[i]];
  }
  for (size_t v = 0; v < body.values().size(); ++v) {
    const Value& value = body.values()[v];
    if (value.is_constant()) outside[v] = builder.AddConstant("", *value.constant);
  }
  return outside;
}

void AddBody(GraphBuilder& builder, const Graph& body, std::vector<ValueId>& outside) {
  for (size_t v = 0; v < body.values().size(); ++v) {
    if (!outside[v].valid()) outside[v] = builder.AddValue("", body.values()[v].type);
  }
  for (const Node& inner : body.nodes()) {
    Node node = inner;
    for (ValueId& input : node.inputs) {
      if (input.valid()) input = outside[input.index()];
    }
    for (ValueId& output : node.outputs) {
      if (output.valid()) output = outside[output.index()];
    }
    builder.AddNode(std::move(node));
  }
}

std::optional<int64_t> ConstantTrips(const Graph& graph, const Node& node) {
  if (IsOp(node, "Loop")) return TripsOfLoop(graph, node);
  if (IsOp(node, "Scan")) return TripsOfScan(graph, node);
  return std::nullopt;
}

}  // namespace pt
