// RMSNormalization spelled out in nodes, as exporters write it below opset 23:
//   s = Sqrt(ReduceMean(x * x) + epsilon), then y = x / s, or x * Reciprocal(s), each followed by * scale where that is
//   a constant of the normalised dims.
// Matched by structure alone; every value in between must have no other reader.
#include <algorithm>
#include <set>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

constexpr int64_t kRmsNormalizationSince = 23;

struct Match {
  std::vector<NodeId> nodes;  // everything replaced, `last` included
  NodeId last;                // makes the result
  ValueId x, scale;           // scale invalid: 1
  std::vector<int64_t> normalised;
  float epsilon = 0;
};

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  // The normalisation whose square is the node `root`.
  std::optional<Match> At(NodeId root) {
    match_ = {};
    if (!MatchSquare(root) || !MatchMean() || !MatchRoot() || !MatchQuotient()) return std::nullopt;
    TakeScale();
    const ValueType &x = graph_.value(match_.x).type, &y = graph_.value(Result()).type;
    if (!x.ranked || x.type != DataType::kFloat32 || y.dims != x.dims) return std::nullopt;
    return std::move(match_);
  }

 private:
  ValueId Result() const { return graph_.node(match_.last).outputs[0]; }
  static ValueId Other(const Node& node, ValueId one) { return node.inputs[node.inputs[0] == one ? 1 : 0]; }
  bool IsNumber(ValueId value, float number) const { return Scalar(value) == number; }

  std::optional<float> Scalar(ValueId value) const {
    const auto& constant = graph_.value(value).constant;
    if (!constant || constant->type() != DataType::kFloat32 || constant->element_count() != 1) return std::nullopt;
    return constant->values<float>()[0];
  }

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
    const std::vector<Dim>& dims = graph_.value(match_.x).type.dims;
    const Node* mean = Follow("ReduceMean");
    if (mean == nullptr || mean->int_or("keepdims", 1) != 1 || mean->inputs.size() < 2 || !mean->inputs[1].valid() ||
        !graph_.value(mean->inputs[1]).is_constant()) {
      return false;
    }
    const auto rank = static_cast<int64_t>(dims.size());
    std::set<int64_t> axes;
    for (int64_t axis : graph_.value(mean->inputs[1]).constant->ToInts()) axes.insert(axis < 0 ? axis + rank : axis);
    const auto count = static_cast<int64_t>(axes.size());
    if (count == 0 || *axes.begin() != rank - count || *axes.rbegin() != rank - 1) return false;
    for (size_t i = static_cast<size_t>(rank - count); i < dims.size(); ++i) {
      if (!dims[i].known()) return false;
      match_.normalised.push_back(dims[i].value);
    }
    return true;
  }

  bool MatchRoot() {
    const ValueId mean = Result();
    const Node* sum = Follow("Add");
    if (sum == nullptr) return false;
    const auto epsilon = Scalar(Other(*sum, mean));
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
    return product != nullptr && Other(*product, factor) == match_.x;
  }

  // The constant that the result is multiplied by, of the normalised dims but for leading ones.
  void TakeScale() {
    const NodeId next = OnlyReader(graph_, Result(), "Mul");
    if (!next.valid()) return;
    const ValueId scale = Other(graph_.node(next), Result());
    const auto& constant = graph_.value(scale).constant;
    if (!constant || constant->type() != DataType::kFloat32) return;
    const std::vector<int64_t>& dims = constant->dims();
    const size_t count = match_.normalised.size();
    if (dims.size() < count || dims.size() > graph_.value(match_.x).type.dims.size()) return;
    const auto trailing = dims.end() - static_cast<ptrdiff_t>(count);
    if (!std::all_of(dims.begin(), trailing, [](int64_t dim) { return dim == 1; }) ||
        !std::equal(trailing, dims.end(), match_.normalised.begin())) {
      return;
    }
    match_.scale = scale;
    Take(next);
  }

  const Graph& graph_;
  Match match_;
};

// Under the normalised dims themselves; 1 everywhere where there is none.
Tensor ScaleOf(const Graph& graph, const Match& match) {
  if (match.scale.valid()) {
    const auto values = graph.value(match.scale).constant->values<float>();
    return Tensor::Float32(match.normalised, std::vector<float>(values.begin(), values.end()));
  }
  int64_t count = 1;
  for (int64_t dim : match.normalised) count *= dim;
  return Tensor::Float32(match.normalised, std::vector<float>(static_cast<size_t>(count), 1));
}

void Replace(GraphBuilder& builder, const Graph& graph, const Match& match) {
  Node node;
  node.op = "RMSNormalization";
  node.name = graph.node(match.last).name;
  node.attributes["axis"] = -static_cast<int64_t>(match.normalised.size());
  node.attributes["epsilon"] = match.epsilon;
  node.inputs = {match.x, builder.AddConstant("", ScaleOf(graph, match))};
  node.outputs = graph.node(match.last).outputs;
  for (NodeId id : match.nodes) {
    const std::vector<Source>& source = graph.node(id).source;
    node.source.insert(node.source.end(), source.begin(), source.end());
    builder.RemoveNode(id);
  }
  builder.AddNode(std::move(node));
}

}  // namespace

Result<std::optional<Graph>> RecogniseRmsNormalization(const Graph& graph, const PassContext&) {
  if (graph.opset() < kRmsNormalizationSince) return {std::nullopt};
  GraphBuilder builder(graph);
  Matcher matcher(graph);
  std::set<NodeId> replaced;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto match = matcher.At(NodeId(i));
    if (!match || std::ranges::any_of(match->nodes, [&](NodeId id) { return replaced.contains(id); })) continue;
    Replace(builder, graph, *match);
    replaced.insert(match->nodes.begin(), match->nodes.end());
  }
  if (replaced.empty()) return {std::nullopt};
  PT_ASSIGN(Graph result, builder.Build(false));
  return {std::optional<Graph>(std::move(result))};
}

}  // namespace pt
