// LayerNormalization spelled out in nodes, as exporters wrote it before the operator existed (opset 17):
//   mean = ReduceMean(x), d = x - mean, s = Sqrt(ReduceMean(d*d) + epsilon), then one of
//   y = d / s, or d * Reciprocal(s), each followed by * scale and + bias where these are constants of the normalised
//   dims; y = (d * scale) / s + bias; y = x * g + (bias - mean * g) with g = Reciprocal(s) * scale (TensorFlow).
// Where all dims but the first are normalised and the constants are of channels, as networks for speech have it, it is
// a GroupNormalization of one group.
// Matched by structure alone; every value in between must have no other reader.
#include <set>

#include "lib/transform/normalisation_parts.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

constexpr int64_t kLayerNormalizationSince = 17;

struct Match {
  std::set<NodeId> nodes;           // everything replaced, `last` included
  NodeId last;                      // makes the result
  ValueId x, scale, bias;           // scale and bias invalid: 1 and 0
  std::vector<int64_t> normalised;  // the trailing dims
  bool by_channel = false;          // scale and bias are of the first of these alone
  float epsilon = 0;
};

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  // The normalisation around the node `root`, a Sqrt or a Pow by a half.
  std::optional<Match> At(NodeId root) {
    match_ = {};
    if (!MatchDeviation(root) || !MatchQuotient(root) || !IsClosed() || !KeepsRank()) return std::nullopt;
    return std::move(match_);
  }

 private:
  // The node that makes `value` when it is this operator.
  const Node* Made(ValueId value, std::string_view op) {
    if (!value.valid() || !graph_.value(value).producer.valid()) return nullptr;
    const Node& node = graph_.node(graph_.value(value).producer);
    return IsOp(node, op) ? &node : nullptr;
  }
  void Take(ValueId value) { match_.nodes.insert(graph_.value(value).producer); }
  ValueId ResultOf(NodeId node) const { return graph_.node(node).outputs[0]; }
  std::optional<float> Scalar(ValueId value) const { return ScalarOf(graph_, value); }
  auto TrailingDimsOf(const Node& mean) const { return TrailingDims(graph_, mean, graph_.value(mean.inputs[0]).type); }

  // x, mean, d and epsilon, upwards from the root.
  bool MatchDeviation(NodeId root) {
    const Node& sqrt = graph_.node(root);
    const bool is_root = IsOp(sqrt, "Sqrt") || (IsOp(sqrt, "Pow") && Scalar(sqrt.inputs[1]) == 0.5F);
    const Node* sum = is_root ? Made(sqrt.inputs[0], "Add") : nullptr;
    if (!sum) return false;
    const size_t constant_at = Scalar(sum->inputs[1]) ? 1 : 0;
    const auto epsilon = Scalar(sum->inputs[constant_at]);
    const ValueId variance = sum->inputs[1 - constant_at];
    const Node* variance_node = Made(variance, "ReduceMean");
    if (!epsilon || !variance_node) return false;
    const ValueId square = variance_node->inputs[0];
    deviation_ = Squared(square);
    const Node* difference = deviation_.valid() ? Made(deviation_, "Sub") : nullptr;
    if (!difference) return false;
    match_.x = difference->inputs[0];
    mean_ = difference->inputs[1];
    const Node* mean_node = Made(mean_, "ReduceMean");
    if (!mean_node || mean_node->inputs[0] != match_.x) return false;
    auto dims = TrailingDimsOf(*mean_node);
    if (!dims || dims != TrailingDimsOf(*variance_node)) return false;
    match_.normalised = std::move(*dims);
    match_.epsilon = *epsilon;
    for (ValueId value : {sqrt.inputs[0], variance, square, deviation_, mean_}) Take(value);
    match_.nodes.insert(root);
    return true;
  }

  // The value whose square this is.
  ValueId Squared(ValueId value) {
    if (const Node* power = Made(value, "Pow")) return Scalar(power->inputs[1]) == 2.0F ? power->inputs[0] : ValueId();
    const Node* product = Made(value, "Mul");
    return product && product->inputs[0] == product->inputs[1] ? product->inputs[0] : ValueId();
  }

  // From the root down to the result.
  bool MatchQuotient(NodeId root) {
    const ValueId deviation = ResultOf(root);
    if (const NodeId quotient = OnlyReader(graph_, deviation, "Div"); quotient.valid()) {
      const Node& node = graph_.node(quotient);
      if (node.inputs[1] != deviation) return false;
      if (node.inputs[0] == deviation_) return MatchScaleAndBias(quotient);
      if (MatchScaledDeviation(node.inputs[0])) return MatchBias(quotient);
      return Scalar(node.inputs[0]) == 1.0F && MatchReciprocal(quotient);
    }
    const NodeId reciprocal = OnlyReader(graph_, deviation, "Reciprocal");
    return reciprocal.valid() && MatchReciprocal(reciprocal);
  }

  // d * scale.
  bool MatchScaledDeviation(ValueId value) {
    const Node* product = Made(value, "Mul");
    if (!product || (product->inputs[0] != deviation_ && product->inputs[1] != deviation_)) return false;
    if (!TakeParameter(OtherOperand(*product, deviation_), match_.scale)) return false;
    Take(value);
    return true;
  }

  bool MatchReciprocal(NodeId reciprocal) {
    match_.nodes.insert(reciprocal);
    const NodeId product = OnlyReader(graph_, ResultOf(reciprocal), "Mul");
    if (!product.valid()) return false;
    const ValueId other = OtherOperand(graph_.node(product), ResultOf(reciprocal));
    if (other == deviation_) return MatchScaleAndBias(product);
    if (!FitsNormalised(other)) return false;
    match_.scale = other;
    match_.nodes.insert(product);
    return MatchSplitProduct(ResultOf(product));
  }

  // x * g + (bias - mean * g).
  bool MatchSplitProduct(ValueId g) {
    NodeId scaled, shifted;
    for (const Use& use : graph_.value(g).uses) {
      const Node& node = graph_.node(use.node);
      if (!IsOp(node, "Mul")) return false;
      const ValueId other = OtherOperand(node, g);
      if (other == match_.x) scaled = use.node;
      if (other == mean_) shifted = use.node;
    }
    if (!scaled.valid() || !shifted.valid()) return false;
    const NodeId difference = OnlyReader(graph_, ResultOf(shifted), "Sub");
    if (!difference.valid() || graph_.node(difference).inputs[1] != ResultOf(shifted)) return false;
    const ValueId bias = graph_.node(difference).inputs[0];
    const NodeId sum = OnlyReader(graph_, ResultOf(difference), "Add");
    if (!sum.valid() || !FitsNormalised(bias) ||
        OtherOperand(graph_.node(sum), ResultOf(difference)) != ResultOf(scaled)) {
      return false;
    }
    match_.bias = bias;
    match_.nodes.insert({scaled, shifted, difference});
    Finish(sum);
    return true;
  }

  // `normalised` makes d / s; what follows is taken in as far as it fits.
  bool MatchScaleAndBias(NodeId normalised) {
    Finish(normalised);
    const NodeId product = OnlyReader(graph_, ResultOf(match_.last), "Mul");
    if (!product.valid()) return true;
    const ValueId scale = OtherOperand(graph_.node(product), ResultOf(match_.last));
    return TakeParameter(scale, match_.scale) ? MatchBias(product) : true;
  }

  // The same of what follows the scale.
  bool MatchBias(NodeId scaled) {
    Finish(scaled);
    const NodeId sum = OnlyReader(graph_, ResultOf(scaled), "Add");
    if (!sum.valid()) return true;
    if (TakeParameter(OtherOperand(graph_.node(sum), ResultOf(scaled)), match_.bias)) Finish(sum);
    return true;
  }

  // A constant of the normalised dims or of channels, as the one before it.
  bool TakeParameter(ValueId value, ValueId& parameter) {
    const bool by_channel = !FitsNormalised(value);
    if (by_channel && !FitsChannels(value)) return false;
    if (match_.scale.valid() && by_channel != match_.by_channel) return false;
    match_.by_channel = by_channel;
    parameter = value;
    return true;
  }

  bool FitsChannels(ValueId value) const {
    const size_t rank = graph_.value(match_.x).type.dims.size();
    const auto& constant = graph_.value(value).constant;
    return graph_.opset() >= kGroupNormalizationSince && rank > 2 && match_.normalised.size() + 1 == rank && constant &&
           constant->type() == DataType::kFloat32 && constant->element_count() == match_.normalised[0] &&
           IsByChannel(*constant, rank, static_cast<size_t>(match_.normalised[0]));
  }

  void Finish(NodeId last) {
    match_.last = last;
    match_.nodes.insert(last);
  }

  // A constant whose dims are the normalised ones, but for leading ones.
  bool FitsNormalised(ValueId value) const {
    return HasTrailingDims(graph_, value, match_.normalised, graph_.value(match_.x).type.dims.size());
  }

  // Nothing outside reads what would disappear.
  bool IsClosed() {
    for (NodeId id : match_.nodes) {
      if (id == match_.last) continue;
      const Value& value = graph_.value(ResultOf(id));
      if (value.is_graph_output) return false;
      for (const Use& use : value.uses) {
        if (!match_.nodes.contains(use.node)) return false;
      }
    }
    return true;
  }

  // A number given under more dims than x has would add dims to the result.
  bool KeepsRank() const {
    const ValueType& result = graph_.value(ResultOf(match_.last)).type;
    return result.ranked && result.dims.size() == graph_.value(match_.x).type.dims.size();
  }

  const Graph& graph_;
  Match match_;
  ValueId mean_, deviation_;
};

void ReplaceByOneGroup(GraphBuilder& builder, const Graph& graph, const Match& match) {
  const std::vector<int64_t> channels = {match.normalised[0]};
  Node node;
  node.op = "GroupNormalization";
  node.attributes["num_groups"] = int64_t{1};
  node.attributes["epsilon"] = match.epsilon;
  node.inputs = {match.x, builder.AddConstant("", NormalisedParameter(graph, match.scale, channels, 1)),
                 builder.AddConstant("", NormalisedParameter(graph, match.bias, channels, 0))};
  ReplaceNodes(builder, graph, match.nodes, match.last, std::move(node));
}

void Replace(GraphBuilder& builder, const Graph& graph, const Match& match) {
  if (match.by_channel) return ReplaceByOneGroup(builder, graph, match);
  Node node;
  node.op = "LayerNormalization";
  node.attributes["axis"] = -static_cast<int64_t>(match.normalised.size());
  node.attributes["epsilon"] = match.epsilon;
  node.inputs = {match.x, builder.AddConstant("", NormalisedParameter(graph, match.scale, match.normalised, 1))};
  if (match.bias.valid()) {
    node.inputs.push_back(builder.AddConstant("", NormalisedParameter(graph, match.bias, match.normalised, 0)));
  }
  ReplaceNodes(builder, graph, match.nodes, match.last, std::move(node));
}

}  // namespace

Result<std::optional<Graph>> RecogniseLayerNormalization(const Graph& graph, const PassContext&) {
  if (graph.opset() < kLayerNormalizationSince) return {std::nullopt};
  return ReplaceMatches(graph, Matcher(graph), Replace);
}

}  // namespace pt
