// No-ops: nodes whose first output always equals their first (or only non-neutral) input.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/movements.h"

namespace pt {
namespace {

const Tensor* ConstantInput(const Graph& graph, const Node& node, size_t index) {
  if (index >= node.inputs.size() || !node.inputs[index].valid()) return nullptr;
  const Value& value = graph.value(node.inputs[index]);
  return value.is_constant() ? &*value.constant : nullptr;
}

bool SameStaticType(const Graph& graph, ValueId a, ValueId b) {
  const ValueType &x = graph.value(a).type, &y = graph.value(b).type;
  return x.is_static() && y.is_static() && x.type == y.type && *x.static_dims() == *y.static_dims();
}

bool AllEqual(const Tensor& tensor, double wanted) {
  if (tensor.element_count() == 0) return false;
  if (tensor.type() == DataType::kFloat32) {
    return std::ranges::all_of(tensor.values<float>(), [&](float v) { return v == static_cast<float>(wanted); });
  }
  const std::vector<int64_t> ints = tensor.ToInts();
  return !ints.empty() && std::ranges::all_of(ints, [&](int64_t v) { return v == static_cast<int64_t>(wanted); });
}

bool IsInferenceDropout(const Graph& graph, const Node& node) {
  if (!IsOp(node, "Dropout")) return false;
  if (node.outputs.size() > 1 && node.outputs[1].valid() &&
      (!graph.value(node.outputs[1]).uses.empty() || graph.value(node.outputs[1]).is_graph_output)) {
    return false;
  }
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return true;
  const Tensor* training = ConstantInput(graph, node, 2);
  return training && AllEqual(*training, 0);
}

// Operators that change nothing when element type and dims stay. Transpose is not among them: swapping two equal
// dims keeps the shape but moves the elements; nor is Pad or Slice, which may crop and pad.
bool IsNoOpIfTypeStays(const Node& node) { return IsReshaping(node) || IsOp(node, "Expand") || IsOp(node, "Cast"); }

bool IsIdentityTranspose(const Graph& graph, const Node& node) {
  if (!IsOp(node, "Transpose")) return false;
  const auto dims = graph.value(node.inputs[0]).type.static_dims();
  if (!dims) return false;
  const Result<std::vector<size_t>> perm = ReadPermutation(node, dims->size());
  return perm.ok() && std::ranges::is_sorted(*perm);
}

bool IsZeroPad(const Graph& graph, const Node& node) {
  const Tensor* pads = IsOp(node, "Pad") ? ConstantInput(graph, node, 1) : nullptr;
  return pads && AllEqual(*pads, 0);
}

bool IsWholeSlice(const Graph& graph, const Node& node) {
  if (!IsOp(node, "Slice") || !SameStaticType(graph, node.inputs[0], node.outputs[0])) return false;
  if (node.inputs.size() < 5) return true;
  const Tensor* steps = ConstantInput(graph, node, 4);
  return steps && AllEqual(*steps, 1);
}

// The input that the node returns unchanged; invalid when it does work. Adding +0 is left alone for floats, since
// -0 + 0 is +0; subtracting it is exact.
ValueId PassedThrough(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.outputs.empty() || !node.inputs[0].valid() || !node.outputs[0].valid()) return {};
  if (IsOp(node, "Identity") || IsInferenceDropout(graph, node) || IsIdentityTranspose(graph, node) ||
      IsZeroPad(graph, node) || IsWholeSlice(graph, node)) {
    return node.inputs[0];
  }
  if (IsNoOpIfTypeStays(node) && SameStaticType(graph, node.inputs[0], node.outputs[0])) return node.inputs[0];
  constexpr std::array<std::string_view, 5> kVariadic = {"Concat", "Sum", "Mean", "Max", "Min"};
  if (node.domain.empty() && node.inputs.size() == 1 &&
      std::find(kVariadic.begin(), kVariadic.end(), node.op) != kVariadic.end()) {
    return node.inputs[0];
  }
  if (node.inputs.size() != 2 || !node.inputs[1].valid()) return {};
  const auto neutral_at = [&](size_t index, double value) {
    const Tensor* constant = ConstantInput(graph, node, index);
    return constant && AllEqual(*constant, value) && SameStaticType(graph, node.inputs[1 - index], node.outputs[0]);
  };
  if ((IsOp(node, "Mul") || IsOp(node, "Div")) && neutral_at(1, 1)) return node.inputs[0];
  if (IsOp(node, "Mul") && neutral_at(0, 1)) return node.inputs[1];
  if (IsOp(node, "Sub") && neutral_at(1, 0) &&
      !std::signbit(ConstantInput(graph, node, 1)->type() == DataType::kFloat32
                        ? ConstantInput(graph, node, 1)->values<float>()[0]
                        : 0.0F)) {
    return node.inputs[0];
  }
  return {};
}

}  // namespace

Result<std::optional<Graph>> RemoveNoOps(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  std::vector<NodeId> producers = ProducerTable(graph);
  bool changed = false;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = builder.graph().node(NodeId(i));
    const ValueId through = PassedThrough(builder.graph(), node);
    if (!through.valid()) continue;
    changed |= BypassNode(builder, producers, NodeId(i), node.outputs[0], through);
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
