// A Reshape of what the caller gives, or is given, is a copy: views lie on what a plan places. Exporters merge the
// first dims of caches of keys and values before products of matrices, [1, heads, keys, d] to [heads, keys, d]. Such
// products keep the dims that the caller's tensor has, and what they make is seen under the others:
//   MatMul(a, Reshape(b)) -> Reshape(MatMul(Reshape(a), b))
// also where a Transpose of the two last dims stands before the product; a Softmax that makes `a` of a view with those
// dims keeps them, too. The Reshapes that are left are of values
// between steps, and cost nothing.
#include <algorithm>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/softmax.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

// An operand as a view of something with other first dims.
struct BatchView {
  ValueId of;
  NodeId transpose;  // of the two last dims, behind the view; invalid: none
};

class Batches {
 public:
  explicit Batches(const Graph& graph) : graph_(graph), builder_(graph) {}

  Result<std::optional<Graph>> Run() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) Visit(NodeId(i));
    return BuildIfChanged(builder_, changed_);
  }

 private:
  std::optional<Dims> DimsOf(ValueId value) const {
    const ValueType& type = builder_.graph().value(value).type;
    auto dims = type.type == DataType::kFloat32 ? type.static_dims() : std::nullopt;
    const bool fits = dims && dims->size() > 2 && std::ranges::find(*dims, 0) == dims->end();
    return fits ? std::move(dims) : std::nullopt;
  }
  static Dims FirstOf(const Dims& dims) { return {dims.begin(), dims.end() - 2}; }

  bool IsCallers(ValueId value) const {
    const Value& v = graph_.value(value);
    return v.is_graph_output || (!v.producer.valid() && !v.is_constant());
  }

  // The caller's own dims, which would change.
  bool IsAsGiven(ValueId operand) const {
    const NodeId maker = graph_.value(operand).producer;
    const bool turned = maker.valid() && IsOp(graph_.node(maker), "Transpose");
    return IsCallers(operand) || (turned && IsCallers(graph_.node(maker).inputs[0]));
  }

  // `value` as a Reshape that keeps the two last dims of what it is of.
  ValueId SourceOf(ValueId value) const {
    const NodeId maker = graph_.value(value).producer;
    if (!maker.valid() || !IsReshaping(graph_.node(maker))) return {};
    const ValueId from = graph_.node(maker).inputs[0];
    const auto before = DimsOf(from), after = DimsOf(value);
    const bool keeps = before && after && std::equal(before->end() - 2, before->end(), after->end() - 2);
    return keeps && FirstOf(*before) != FirstOf(*after) ? from : ValueId();
  }

  std::optional<BatchView> ViewOf(ValueId operand) const {
    if (const ValueId source = SourceOf(operand); source.valid()) return BatchView{source, NodeId()};
    const NodeId maker = graph_.value(operand).producer;
    const auto dims = DimsOf(operand);
    if (!maker.valid() || !dims || !IsOp(graph_.node(maker), "Transpose")) return std::nullopt;
    const auto perm = ReadPermutation(graph_.node(maker), dims->size());
    if (!perm.ok() || *perm != SwapOfLast(dims->size())) return std::nullopt;
    const ValueId source = SourceOf(graph_.node(maker).inputs[0]);
    return source.valid() ? std::optional(BatchView{source, maker}) : std::nullopt;
  }

  static std::vector<size_t> SwapOfLast(size_t rank) {
    std::vector<size_t> perm;
    for (size_t d = 0; d < rank; ++d) perm.push_back(d);
    std::swap(perm[rank - 2], perm[rank - 1]);
    return perm;
  }

  void Visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (!IsOp(node, "MatMul")) return;
    const auto a = DimsOf(node.inputs[0]), b = DimsOf(node.inputs[1]), made = DimsOf(node.outputs[0]);
    if (!a || !b || !made || FirstOf(*a) != FirstOf(*b)) return;  // nothing is repeated
    if (IsAsGiven(node.inputs[0]) || IsAsGiven(node.inputs[1])) return;
    for (const ValueId operand : {node.inputs[1], node.inputs[0]}) {
      const auto view = ViewOf(operand);
      if (view && IsCallers(view->of)) return Keep(id, FirstOf(*DimsOf(view->of)), *made);
    }
  }

  void Keep(NodeId id, const Dims& first, Dims made) {
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    const ValueId output = graph_.node(id).outputs[0];
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId moved = Under(inputs[i], first);
      builder_.node(id).inputs[i] = moved;
    }
    made.erase(made.begin(), made.end() - 2);
    made.insert(made.begin(), first.begin(), first.end());
    const ValueId result = builder_.AddValue("", StaticType(DataType::kFloat32, made));
    builder_.node(id).outputs[0] = result;
    builder_.node(AddReshape(builder_, result, output)).source = graph_.node(id).source;
    changed_ = true;
  }

  // The operand with other first dims: what it is a view of, or a view of it.
  ValueId Under(ValueId operand, const Dims& first) {
    const auto view = ViewOf(operand);
    if (view && FirstOf(*DimsOf(view->of)) == first)
      return view->transpose.valid() ? Transposed(view->of, view->transpose) : view->of;
    if (const ValueId scores = ScoresUnder(operand, first); scores.valid()) return scores;
    Dims dims = *DimsOf(operand);
    dims.erase(dims.begin(), dims.end() - 2);
    dims.insert(dims.begin(), first.begin(), first.end());
    const ValueId seen = builder_.AddValue("", StaticType(DataType::kFloat32, dims));
    AddReshape(builder_, operand, seen);
    return seen;
  }

  // Of a Softmax along the last dim of such a view: the Softmax of what that is of. Invalid for everything else.
  ValueId ScoresUnder(ValueId operand, const Dims& first) {
    const NodeId maker = graph_.value(operand).producer;
    if (!maker.valid() || !IsOp(graph_.node(maker), "Softmax")) return {};
    const size_t rank = graph_.value(operand).type.dims.size();
    const ValueId source = SourceOf(graph_.node(maker).inputs[0]);
    if (!source.valid() || !IsSoftmaxOfLastDim(graph_.node(maker), graph_.opset(), rank)) return {};
    const Dims dims = *DimsOf(source);
    if (FirstOf(dims) != first) return {};
    Node node = graph_.node(maker);
    node.attributes["axis"] = int64_t{-1};
    node.inputs = {source};
    const ValueId scores = builder_.AddValue("", StaticType(DataType::kFloat32, dims));
    node.outputs = {scores};
    builder_.AddNode(std::move(node));
    return scores;
  }

  ValueId Transposed(ValueId value, NodeId like) {
    Dims dims = *DimsOf(value);
    const std::vector<size_t> perm = SwapOfLast(dims.size());
    std::swap(dims[dims.size() - 2], dims[dims.size() - 1]);
    Node node = graph_.node(like);
    node.attributes["perm"] = std::vector<int64_t>(perm.begin(), perm.end());
    node.inputs = {value};
    node.outputs = {builder_.AddValue("", StaticType(DataType::kFloat32, dims))};
    const ValueId turned = node.outputs[0];
    builder_.AddNode(std::move(node));
    return turned;
  }

  const Graph& graph_;
  GraphBuilder builder_;
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> KeepBatches(const Graph& graph, const PassContext&) { return Batches(graph).Run(); }

}  // namespace pt
