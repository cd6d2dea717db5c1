// RMSNormalization spelled out in nodes, as exporters write it below opset 23:
//   s = Sqrt(ReduceMean(x * x) + epsilon), then y = x / s, or x * Reciprocal(s), each followed by * scale where that is
//   a constant of the normalised dims.
// Matched by structure alone; every value in between must have no other reader.
#include "lib/transform/normalisation_parts.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

constexpr int64_t kRmsNormalizationSince = 23;

struct RmsMatch {
  std::vector<NodeId> nodes;  // everything replaced, `last` included
  NodeId last;                // makes the result
  ValueId x, scale;           // scale invalid: 1
  std::vector<int64_t> normalised;
  float epsilon = 0;
};

class RmsMatcher {
 public:
  explicit RmsMatcher(const Graph& graph) : graph_(graph) {}

  // The normalisation whose square is the node `root`.
  std::optional<RmsMatch> At(NodeId root) {
    match_ = {};
    if (!MatchSquare(root) || !MatchMean() || !MatchRoot() || !MatchQuotient()) return std::nullopt;
    TakeScale();
    const ValueType &x = graph_.value(match_.x).type, &y = graph_.value(Result()).type;
    if (!x.ranked || x.type != DataType::kFloat32 || y.dims != x.dims) return std::nullopt;
    return std::move(match_);
  }

 private:
  ValueId Result() const { return graph_.node(match_.last).outputs[0]; }
  bool IsNumber(ValueId value, float number) const { return ScalarOf(graph_, value) == number; }

  // Goes on to the only reader of the last result where it is that operator.
  const Node* Follow(std::string_view op) {
    const NodeId next = OnlyReader(graph_, Result(), op);
    if (!next.valid()) return nullptr;
    Take(next);
    return &graph_.node(next);
  }
  void Take(NodeId node) {
    match_.last = node;
    match_.nodes.push_back(node);
  }

  bool MatchSquare(NodeId root) {
    const Node& node = graph_.node(root);
    const bool power = IsOp(node, "Pow") && IsNumber(node.inputs[1], 2);
    if (!power && !(IsOp(node, "Mul") && node.inputs[0] == node.inputs[1])) return false;
    match_.x = node.inputs[0];
    Take(root);
    return true;
  }

  bool MatchMean() {
    const Node* mean = Follow("ReduceMean");
    if (mean == nullptr) return false;
    auto dims = TrailingDims(graph_, *mean, graph_.value(match_.x).type);
    if (!dims) return false;
    match_.normalised = std::move(*dims);
    return true;
  }

  bool MatchRoot() {
    const ValueId mean = Result();
    const Node* sum = Follow("Add");
    if (sum == nullptr) return false;
    const auto epsilon = ScalarOf(graph_, OtherOperand(*sum, mean));
    if (!epsilon || sum->inputs[0] == sum->inputs[1]) return false;
    match_.epsilon = *epsilon;
    return Follow("Sqrt") != nullptr;
  }

  bool MatchQuotient() {
    const ValueId root = Result();
    const Node* quotient = Follow("Div");
    if (quotient != nullptr && quotient->inputs[1] == root && quotient->inputs[0] == match_.x) return true;
    const bool inverse = quotient != nullptr ? quotient->inputs[1] == root && IsNumber(quotient->inputs[0], 1)
                                             : Follow("Reciprocal") != nullptr;
    if (!inverse) return false;
    const ValueId factor = Result();
    const Node* product = Follow("Mul");
    return product != nullptr && OtherOperand(*product, factor) == match_.x;
  }

  // The constant that the result is multiplied by, of the normalised dims without leading ones.
  void TakeScale() {
    const NodeId next = OnlyReader(graph_, Result(), "Mul");
    if (!next.valid()) return;
    const ValueId scale = OtherOperand(graph_.node(next), Result());
    if (!HasTrailingDims(graph_, scale, match_.normalised, graph_.value(match_.x).type.dims.size())) return;
    match_.scale = scale;
    Take(next);
  }

  const Graph& graph_;
  RmsMatch match_;
};

void ReplaceByRms(GraphBuilder& builder, const Graph& graph, const RmsMatch& match) {
  Node node;
  node.op = "RMSNormalization";
  node.attributes["axis"] = -static_cast<int64_t>(match.normalised.size());
  node.attributes["epsilon"] = match.epsilon;
  node.inputs = {match.x, builder.AddConstant("", NormalisedParameter(graph, match.scale, match.normalised, 1))};
  ReplaceNodes(builder, graph, match.nodes, match.last, std::move(node));
}

}  // namespace

Result<std::optional<Graph>> RecogniseRmsNormalization(const Graph& graph, const PassContext&) {
  if (graph.opset() < kRmsNormalizationSince) return {std::nullopt};
  return ReplaceMatches(graph, RmsMatcher(graph), ReplaceByRms);
}

}  // namespace pt
