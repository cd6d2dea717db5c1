#include "partitiontuner/graph/operators/reductions.h"

#include "partitiontuner/graph/operators/axis.h"

namespace pt {
namespace {

Error InvalidReduction(std::string why) {
  return MakeError(ErrorCode::kInvalidInput, "graph.reduction", std::move(why));
}

// Of the attribute: operator sets before 13 and 18.
Result<std::vector<int64_t>> NamedAxes(const Node& node) {
  const Attribute* const named = node.find("axes");
  if (named == nullptr) return std::vector<int64_t>();
  if (const auto* const list = std::get_if<std::vector<int64_t>>(named)) return *list;
  if (const auto* const one = std::get_if<int64_t>(named)) return std::vector<int64_t>{*one};
  return InvalidReduction("attribute \"axes\" is not a list of integers");
}

}  // namespace

bool KeepsReducedDims(const Node& node) { return node.int_or("keepdims", 1) != 0; }

Result<std::vector<bool>> ReadReducedDims(const Node& node, size_t rank, const std::optional<Tensor>& axes) {
  std::vector<int64_t> named;
  if (!axes) {
    PT_ASSIGN(named, NamedAxes(node));
  } else if (axes->element_count() > 0) {
    if (axes->rank() > 1) return InvalidReduction("\"axes\" is not a list");
    named = axes->ToInts();
  }
  const bool all = named.empty() && node.int_or("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(rank, all);
  for (const int64_t given : named) {
    PT_ASSIGN(const size_t axis, ResolveAxis(given, rank));
    reduced[axis] = true;
  }
  return reduced;
}

Result<std::vector<bool>> ReadReducedDims(const Graph& graph, const Node& node, size_t rank) {
  if (node.inputs.size() < 2 || !node.inputs[1].valid()) return ReadReducedDims(node, rank, std::nullopt);
  const std::optional<Tensor>& axes = graph.value(node.inputs[1]).constant;
  if (axes) return ReadReducedDims(node, rank, axes);
  return MakeError(ErrorCode::kUnsupported, "graph.reduction", "its axes are not known until run time");
}

Result<ArgReductionNode> ReadArgReduction(const Node& node, int64_t opset, size_t rank) {
  PT_ASSIGN(const size_t axis, ReadAxis(node, opset, rank));
  return ArgReductionNode{axis, KeepsReducedDims(node), node.int_or("select_last_index", 0) != 0};
}

Result<TopKNode> ReadTopK(const Node& node, int64_t opset, size_t rank) {
  PT_ASSIGN(const size_t axis, ReadAxis(node, opset, rank));
  TopKNode top{axis, node.int_or("largest", 1) != 0, node.int_or("sorted", 1) != 0, std::nullopt};
  if (node.find("k") != nullptr) top.k = node.int_or("k", -1);
  return top;
}

CumulativeNode ReadCumulative(const Node& node) {
  return {node.int_or("exclusive", 0) != 0, node.int_or("reverse", 0) != 0};
}

}  // namespace pt
