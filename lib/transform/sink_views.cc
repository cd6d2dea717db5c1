// Reshapes that stand between a product and the element-wise operators after it keep the two from being one kernel:
// MatMul, Reshape, Add of a bias, Gelu. Such operators are computed before the Reshape instead:
//   op(Reshape(a), c) -> Reshape(op(a, c))
// where c is one number or one for each index of the last dim, which the Reshape keeps, or a value of full size, which
// is then seen under a's dims. LayerNormalization and Softmax over the last dim go the same way. Starts at products
// only.
#include <algorithm>
#include <map>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/softmax.h"

namespace pt {
namespace {

class Sinking {
 public:
  explicit Sinking(const Graph& graph) : graph_(graph), builder_(graph) {}

  Result<std::optional<Graph>> Run() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) Visit(NodeId(i));
    return BuildIfChanged(builder_, changed_);
  }

 private:
  using Dims = std::vector<int64_t>;

  // Nodes come in topological order, so what an operator reads has been moved already if it ever will be.
  void Visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (IsReshaping(node)) return NoteView(node);
    if (node.outputs.size() != 1) return;
    if (IsUnaryElementwise(node)) return Move(id);
    if (IsBinaryElementwise(node)) return Move(id);
    if (IsOp(node, "LayerNormalization") && IsOverLastDim(node)) return Move(id);
    if ((IsOp(node, "Softmax") || IsOp(node, "LogSoftmax")) && IsOverLastDim(node)) return Move(id);
  }

  bool IsOverLastDim(const Node& node) const {
    const size_t rank = graph_.value(node.inputs[0]).type.dims.size();
    if (!IsOp(node, "LayerNormalization")) return IsSoftmaxOfLastDim(node, graph_.opset(), rank);
    const Result<size_t> axis = ReadAxis(node, graph_.opset(), rank);
    return axis.ok() && *axis + 1 == rank;
  }

  std::optional<Dims> DimsOf(ValueId value) const {
    const ValueType& type = builder_.graph().value(value).type;
    return type.type == DataType::kFloat32 ? type.static_dims() : std::nullopt;
  }

  // A Reshape of a product's result, or of what was moved before one.
  void NoteView(const Node& node) {
    const ValueId from = node.inputs[0], to = node.outputs[0];
    const NodeId producer = graph_.value(from).producer;
    const bool product =
        producer.valid() && (IsOp(graph_.node(producer), "MatMul") || IsOp(graph_.node(producer), "Gemm"));
    const auto before = DimsOf(from), after = DimsOf(to);
    if (!product || !before || !after || before->empty() || after->empty()) return;
    if (before->back() != after->back() || std::ranges::find(*after, 0) != after->end()) return;
    source_.emplace(to, from);
  }

  // Moves the node before the Reshape that makes one of its inputs, if all the others allow it.
  void Move(NodeId id) {
    const Node& node = graph_.node(id);
    const auto view = std::ranges::find_if(node.inputs, [&](ValueId input) { return source_.contains(input); });
    if (view == node.inputs.end()) return;
    const Dims outer = *DimsOf(*view), inner = *DimsOf(source_.at(*view));
    if (DimsOf(node.outputs[0]) != outer) return;
    const bool parameters = IsOp(node, "LayerNormalization");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool fits =
          parameters && i > 0 ? IsLastDim(node.inputs[i], outer.back()) : Fits(node.inputs[i], outer, inner);
      if (!fits) return;
    }
    const std::vector<ValueId> inputs = node.inputs;
    const ValueId output = node.outputs[0];
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId moved = Inner(inputs[i], outer, inner);
      builder_.node(id).inputs[i] = moved;
    }
    const ValueId result = builder_.AddValue("", StaticType(DataType::kFloat32, inner));
    builder_.node(id).outputs[0] = result;
    // What counts dims from the front goes over the last one.
    if (HasAxis(node)) builder_.node(id).attributes["axis"] = int64_t{-1};
    builder_.node(AddReshape(builder_, result, output)).source = graph_.node(id).source;
    source_.emplace(output, result);
    changed_ = true;
  }

  bool Fits(ValueId input, const Dims& outer, const Dims& inner) const {
    if (!input.valid()) return false;
    if (const auto at = source_.find(input); at != source_.end()) {
      return DimsOf(input) == outer && DimsOf(at->second) == inner;
    }
    if (!graph_.value(input).is_constant()) return DimsOf(input) == outer;
    return IsNumber(input) || IsLastDim(input, outer.back());
  }

  bool IsNumber(ValueId value) const {
    const auto& constant = graph_.value(value).constant;
    return constant && constant->type() == DataType::kFloat32 && constant->element_count() == 1;
  }
  bool IsLastDim(ValueId value, int64_t last) const {
    const auto& constant = graph_.value(value).constant;
    return constant && constant->type() == DataType::kFloat32 && !constant->dims().empty() &&
           constant->dims().back() == last && constant->element_count() == last;
  }

  // The input as the moved node reads it.
  ValueId Inner(ValueId input, const Dims& outer, const Dims& inner) {
    if (const auto at = source_.find(input); at != source_.end()) return at->second;
    const auto& constant = graph_.value(input).constant;
    if (!constant) return SeenUnder(input, inner);
    // Leading dims of 1 may be more than the inner dims have.
    if (constant->dims().size() <= std::min(outer.size(), inner.size())) return input;
    const auto values = constant->values<float>();
    return builder_.AddConstant("", Tensor::Float32({constant->element_count()}, {values.begin(), values.end()}));
  }

  ValueId SeenUnder(ValueId value, const Dims& dims) {
    const ValueId seen = builder_.AddValue("", StaticType(DataType::kFloat32, dims));
    AddReshape(builder_, value, seen);
    return seen;
  }

  const Graph& graph_;
  GraphBuilder builder_;
  std::map<ValueId, ValueId> source_;  // a view -> what it is a view of
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> SinkViews(const Graph& graph, const PassContext&) { return Sinking(graph).Run(); }

}  // namespace pt
