#include "lib/backend/host_kernels/clip_bounds.h"

#include <limits>

#include "partitiontuner/graph/operators/elementwise.h"
#include "partitiontuner/graph/uses.h"

namespace pt::host {

std::optional<Bounds> ClipBounds(const Graph& graph, const Node& clip) {
  const BoundsNode named = ReadNamedBounds(clip);
  const auto bound = [&](size_t i, float otherwise) -> std::optional<float> {
    if (i >= clip.inputs.size() || !clip.inputs[i].valid()) return otherwise;
    const auto& constant = graph.value(clip.inputs[i]).constant;
    if (!constant || constant->element_count() != 1 || constant->type() != DataType::kFloat32) return std::nullopt;
    return constant->values<float>()[0];
  };
  const std::optional<float> low = bound(1, named.low), high = bound(2, named.high);
  if (!low || !high || !(*low <= *high)) return std::nullopt;
  return Bounds{*low, *high};
}

std::optional<ClippingNode> ActivationBehind(const Graph& graph, ValueId value) {
  const NodeId reader = OnlyReader(graph, value);
  if (!reader.valid()) return std::nullopt;
  const Node& node = graph.node(reader);
  if (!node.domain.empty() || node.inputs[0] != value) return std::nullopt;
  if (node.op == "Relu") return ClippingNode{reader, {0, std::numeric_limits<float>::infinity()}};
  const auto bounds = node.op == "Clip" ? ClipBounds(graph, node) : std::nullopt;
  return bounds ? std::optional(ClippingNode{reader, *bounds}) : std::nullopt;
}

}  // namespace pt::host
