#include "partitiontuner/backend/attention_pattern.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/softmax.h"
#include "partitiontuner/graph/uses.h"

namespace pt {
namespace {

bool IsOp(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

class Finder {
 public:
  Finder(const Graph& graph, NodeId softmax) : graph_(graph), softmax_(softmax) {}

  std::optional<AttentionPattern> Find() {
    const Node& softmax = graph_.node(softmax_);
    if (!IsOp(softmax, "Softmax")) return std::nullopt;
    const size_t rank = graph_.value(softmax.outputs[0]).type.dims.size();
    if (!IsSoftmaxOfLastDim(softmax, graph_.opset(), rank)) return std::nullopt;
    const ValueId weights = TakeWeights(softmax.outputs[0]);
    const NodeId second = OnlyReader(graph_, weights);
    if (!second.valid() || !IsProduct(second)) return std::nullopt;
    if (graph_.node(second).inputs[0] != weights || graph_.node(second).inputs[1] == weights) return std::nullopt;
    const NodeId first = FindScores(softmax.inputs[0], static_cast<int>(kMostAttentionMasks));
    if (!first.valid()) return std::nullopt;
    std::reverse(pattern_.masks.begin(), pattern_.masks.end());
    Take(softmax_);
    Take(first);
    Take(second);
    pattern_.q = Operand(graph_.node(first).inputs[0], true);
    pattern_.k = Operand(graph_.node(first).inputs[1], true);
    pattern_.v = Operand(graph_.node(second).inputs[1], false);
    pattern_.y = ResultOf(second);
    std::sort(pattern_.nodes.begin(), pattern_.nodes.end());
    return std::move(pattern_);
  }

 private:
  // Scaling the scores instead of what they are made of neither overflows nor loses digits.
  static constexpr double kLeastScale = 1e-6, kMostScale = 1e6;

  void Take(NodeId node) { pattern_.nodes.push_back(node); }

  // The producer of a value that has one reader; invalid where there is none.
  NodeId OwnProducer(ValueId value) const {
    return OnlyReader(graph_, value).valid() ? graph_.value(value).producer : NodeId();
  }
  bool IsProduct(NodeId node) const {
    const Node& product = graph_.node(node);
    return IsOp(product, "MatMul") && graph_.value(product.inputs[0]).type.dims.size() >= 2 &&
           graph_.value(product.inputs[1]).type.dims.size() >= 2;
  }
  bool SameDims(ValueId a, ValueId b) const { return graph_.value(a).type.dims == graph_.value(b).type.dims; }

  // The scale with that of `node`, a multiplication of `input` by a number; nullopt where it is anything else.
  std::optional<double> ScaleBy(const Node& node, size_t input) const {
    const bool divides = IsOp(node, "Div") && input == 0;
    if (!divides && !IsOp(node, "Mul")) return std::nullopt;
    const auto& constant = graph_.value(node.inputs[1 - input]).constant;
    if (!constant || constant->type() != DataType::kFloat32 || constant->element_count() != 1) return std::nullopt;
    const double number = static_cast<double>(constant->values<float>()[0]);
    const double scale = pattern_.scale * (divides ? 1 / number : number);
    const bool fits = std::abs(scale) >= kLeastScale && std::abs(scale) <= kMostScale;
    return fits ? std::optional(scale) : std::nullopt;
  }

  bool IsZero(ValueId value) const {
    const auto& constant = graph_.value(value).constant;
    return constant && constant->type() == DataType::kFloat32 && constant->element_count() == 1 &&
           constant->values<float>()[0] == 0;
  }

  // What the second product reads: the weights, or Where(IsNaN(weights), 0, weights), whose nodes are taken.
  ValueId TakeWeights(ValueId weights) {
    const Value& made = graph_.value(weights);
    if (made.uses.size() != 2 || made.is_graph_output) return weights;
    for (const size_t test : {size_t{0}, size_t{1}}) {
      const NodeId is_nan = made.uses[test].node, where = made.uses[1 - test].node;
      if (!IsOp(graph_.node(is_nan), "IsNaN") || !IsOp(graph_.node(where), "Where")) continue;
      const Node& chosen = graph_.node(where);
      const ValueId condition = graph_.node(is_nan).outputs[0];
      if (chosen.inputs[0] != condition || chosen.inputs[2] != weights || !IsZero(chosen.inputs[1])) continue;
      if (OnlyReader(graph_, condition) != where || !SameDims(chosen.outputs[0], weights)) continue;
      pattern_.nan_is_zero = true;
      Take(is_nan);
      Take(where);
      return chosen.outputs[0];
    }
    return weights;
  }

  // Of c · tanh(x), which `scores` is, the x; both nodes are taken. Invalid for everything else.
  ValueId TakeSoftcap(ValueId scores) {
    const NodeId mul = OwnProducer(scores);
    if (pattern_.scale != 1 || pattern_.softcap != 0 || !mul.valid() || !IsOp(graph_.node(mul), "Mul")) return {};
    const Node& node = graph_.node(mul);
    for (const size_t input : {size_t{0}, size_t{1}}) {
      const NodeId tanh = OwnProducer(node.inputs[input]);
      if (!tanh.valid() || !IsOp(graph_.node(tanh), "Tanh") || !SameDims(node.inputs[input], scores)) continue;
      const auto cap = ScaleBy(node, input);
      if (!cap || *cap <= 0) return {};
      pattern_.softcap = pattern_.scale = *cap;
      Take(mul);
      Take(tanh);
      return graph_.node(tanh).inputs[0];
    }
    return {};
  }

  // The product that makes the scores, with what lies between it and `scores` taken: scales, a cap, then masks.
  NodeId FindScores(ValueId scores, int masks_left) {
    const NodeId producer = OwnProducer(scores);
    if (!producer.valid()) return producer;
    if (IsProduct(producer)) return producer;
    if (const ValueId capped = TakeSoftcap(scores); capped.valid()) return FindScores(capped, 0);
    const Node& node = graph_.node(producer);
    for (size_t input = 0; input < node.inputs.size(); ++input) {
      if (!node.inputs[input].valid() || !SameDims(node.inputs[input], scores)) continue;
      const AttentionPattern before = pattern_;
      const auto factor = ScaleBy(node, input);
      const auto mask = !factor && masks_left > 0 ? MaskOf(node, input) : std::nullopt;
      if (!factor && !mask) continue;
      if (factor) pattern_.scale = *factor;
      if (mask) pattern_.masks.push_back(*mask);
      const NodeId product = FindScores(node.inputs[input], factor ? 0 : masks_left - 1);
      if (product.valid()) {
        Take(producer);
        return product;
      }
      pattern_ = before;
    }
    return NodeId();
  }

  std::optional<AttentionPattern::Mask> MaskOf(const Node& node, size_t scores) const {
    if (IsOp(node, "Add") && node.inputs[1 - scores] != node.inputs[scores]) {
      return AttentionPattern::Mask{node.inputs[1 - scores]};
    }
    if (!IsOp(node, "Where") || scores == 0) return std::nullopt;
    const auto& other = graph_.value(node.inputs[3 - scores]).constant;
    if (!other || other->type() != DataType::kFloat32 || other->element_count() != 1) return std::nullopt;
    const float otherwise = other->values<float>()[0];
    return AttentionPattern::Mask{node.inputs[0], true, scores == 1, otherwise};
  }

  AttentionPattern::Matrices Identity(ValueId value) const {
    AttentionPattern::Matrices matrices{value, std::vector<size_t>(graph_.value(value).type.dims.size())};
    std::iota(matrices.dims.begin(), matrices.dims.end(), size_t{0});
    return matrices;
  }

  // nullopt where the node is no Transpose that can be read.
  std::optional<std::vector<size_t>> Permutation(const Node& node) const {
    if (!IsOp(node, "Transpose")) return std::nullopt;
    Result<std::vector<size_t>> read = ReadPermutation(node, graph_.value(node.inputs[0]).type.dims.size());
    return read.ok() ? std::optional(std::move(*read)) : std::nullopt;
  }

  // A product's operand, seen through the transpositions and scales that make it for this product alone.
  AttentionPattern::Matrices Operand(ValueId value, bool scales) {
    AttentionPattern::Matrices matrices = Identity(value);
    for (;;) {
      const NodeId producer = OwnProducer(matrices.value);
      if (!producer.valid()) return matrices;
      const Node& node = graph_.node(producer);
      if (const auto permutation = Permutation(node)) {
        for (size_t& dim : matrices.dims) dim = (*permutation)[dim];
        matrices.value = node.inputs[0];
      } else if (const auto input = scales ? ScaledInput(node) : std::nullopt) {
        pattern_.scale = *ScaleBy(node, *input);
        matrices.value = node.inputs[*input];
      } else {
        return matrices;
      }
      Take(producer);
    }
  }

  // The input that is multiplied by a number; nullopt where there is none.
  std::optional<size_t> ScaledInput(const Node& node) const {
    for (size_t input = 0; input < 2 && node.inputs.size() == 2; ++input) {
      if (SameDims(node.inputs[input], node.outputs[0]) && ScaleBy(node, input)) return input;
    }
    return std::nullopt;
  }

  AttentionPattern::Matrices ResultOf(NodeId product) {
    const ValueId made = graph_.node(product).outputs[0];
    AttentionPattern::Matrices result = Identity(made);
    const NodeId reader = OnlyReader(graph_, made);
    const auto permutation = reader.valid() ? Permutation(graph_.node(reader)) : std::nullopt;
    if (!permutation) return result;
    Take(reader);
    for (size_t d = 0; d < permutation->size(); ++d) result.dims[(*permutation)[d]] = d;
    result.value = graph_.node(reader).outputs[0];
    return result;
  }

  const Graph& graph_;
  const NodeId softmax_;
  AttentionPattern pattern_;
};

// [batch, heads, length, size] of which each head is there `each` times, one beside the other.
struct Repeat {
  ValueId source;
  int64_t each = 1;
  std::vector<NodeId> nodes;
};

std::optional<Repeat> FindRepeat(const Graph& graph, ValueId value) {
  Repeat repeat{value, 1, {}};
  std::vector<std::vector<int64_t>> dims;  // of the results, then of the source
  for (const std::string_view op : {"Reshape", "Expand", "Unsqueeze"}) {
    const NodeId producer = graph.value(repeat.source).producer;
    const auto made = graph.value(repeat.source).type.static_dims();
    if (!OnlyReader(graph, repeat.source).valid() || !producer.valid() || !made) return std::nullopt;
    const Node& node = graph.node(producer);
    if (!IsOp(node, op) && !(op == "Unsqueeze" && IsOp(node, "Reshape"))) return std::nullopt;
    dims.push_back(*made);
    repeat.nodes.push_back(producer);
    repeat.source = node.inputs[0];
  }
  const auto source = graph.value(repeat.source).type.static_dims();
  if (!source || source->size() != 4 || dims[1].size() != 5 || graph.value(repeat.source).is_constant())
    return std::nullopt;
  const int64_t batch = (*source)[0], heads = (*source)[1], length = (*source)[2], size = (*source)[3];
  repeat.each = dims[1][2];
  using Dims = std::vector<int64_t>;
  const bool fits = repeat.each > 1 && heads > 0 && dims[2] == Dims{batch, heads, 1, length, size} &&
                    dims[1] == Dims{batch, heads, repeat.each, length, size} && dims[0].size() == 4 &&
                    dims[0][0] == batch && dims[0][1] % heads == 0 && dims[0][1] / heads == repeat.each &&
                    dims[0][2] == length && dims[0][3] == size;
  return fits ? std::optional(std::move(repeat)) : std::nullopt;
}

// What `find` finds with exactly these nodes.
std::optional<AttentionPattern> ReadBy(std::optional<AttentionPattern> (*find)(const Graph&, NodeId),
                                       const Graph& graph, std::span<const NodeId> nodes) {
  const auto softmax = std::ranges::find_if(nodes, [&](NodeId node) { return IsOp(graph.node(node), "Softmax"); });
  if (softmax == nodes.end()) return std::nullopt;
  std::optional<AttentionPattern> found = find(graph, *softmax);
  return found && std::ranges::equal(found->nodes, nodes) ? std::move(found) : std::nullopt;
}

}  // namespace

std::optional<AttentionPattern> FindAttention(const Graph& graph, NodeId softmax) {
  return Finder(graph, softmax).Find();
}

std::optional<AttentionPattern> FindGroupedAttention(const Graph& graph, NodeId softmax) {
  std::optional<AttentionPattern> found = FindAttention(graph, softmax);
  if (!found || found->k.value == found->v.value) return std::nullopt;
  const auto keys = FindRepeat(graph, found->k.value), values = FindRepeat(graph, found->v.value);
  if (!keys || !values || keys->each != values->each) return std::nullopt;
  for (const auto* matrices : {&found->q, &found->k, &found->v, &found->y}) {
    if (matrices->dims.size() != 4) return std::nullopt;
  }
  // Heads are the last dim before the matrices'.
  if (found->k.dims[1] != 1 || found->v.dims[1] != 1) return std::nullopt;
  found->each = keys->each;
  found->k.value = keys->source;
  found->v.value = values->source;
  for (const Repeat* repeat : {&*keys, &*values})
    found->nodes.insert(found->nodes.end(), repeat->nodes.begin(), repeat->nodes.end());
  std::sort(found->nodes.begin(), found->nodes.end());
  return found;
}

std::optional<AttentionPattern> ReadAttention(const Graph& graph, std::span<const NodeId> nodes) {
  return ReadBy(FindAttention, graph, nodes);
}

std::optional<AttentionPattern> ReadGroupedAttention(const Graph& graph, std::span<const NodeId> nodes) {
  return ReadBy(FindGroupedAttention, graph, nodes);
}

}  // namespace pt
