// GroupNormalization spelled out in nodes, as exporters write it below opset 21: a Reshape of [N, C, ...] to
// [N, groups, ...], InstanceNormalization with constant scale and bias, a Reshape back, then * scale and + bias where
// these are constants, one number a channel.
#include "lib/transform/normalisation_parts.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/normalizations.h"

namespace pt {
namespace {

struct GroupMatch {
  std::vector<NodeId> nodes;  // everything replaced, `last` included
  NodeId last;                // makes the result
  ValueId x;
  std::vector<float> scale, bias;  // of each channel
  int64_t groups = 1;
  float epsilon = 0;
};

class GroupMatcher {
 public:
  explicit GroupMatcher(const Graph& graph) : graph_(graph) {}

  // The normalisation around the InstanceNormalization `root`.
  std::optional<GroupMatch> At(NodeId root) {
    match_ = {};
    const Node& node = graph_.node(root);
    if (!IsOp(node, "InstanceNormalization") || !MatchView(node.inputs[0]) || !MatchParameters(node)) {
      return std::nullopt;
    }
    match_.epsilon = ReadEpsilon(node);
    Take(root);
    if (!MatchViewBack()) return std::nullopt;
    TakeScaleAndBias();
    return std::move(match_);
  }

 private:
  ValueId Result() const { return graph_.node(match_.last).outputs[0]; }
  void Take(NodeId node) {
    match_.last = node;
    match_.nodes.push_back(node);
  }

  // x as [N, groups, ...]: planes of float32 whose elements stay in their order.
  bool MatchView(ValueId viewed) {
    const Value& view = graph_.value(viewed);
    if (!view.producer.valid() || view.uses.size() != 1 || view.is_graph_output) return false;
    const Node& node = graph_.node(view.producer);
    if (!IsReshaping(node)) return false;
    match_.x = node.inputs[0];
    const auto dims = graph_.value(match_.x).type.static_dims(), grouped = view.type.static_dims();
    if (!dims || !grouped || view.type.type != DataType::kFloat32 || dims->size() < 3 || grouped->size() < 3)
      return false;
    dims_ = *dims;
    channels_ = dims_[1];
    match_.groups = (*grouped)[1];
    Take(view.producer);
    return (*grouped)[0] == dims_[0] && match_.groups > 0 && channels_ > 0 && channels_ % match_.groups == 0;
  }

  // Scale and bias of the groups.
  bool MatchParameters(const Node& node) {
    const auto &scale = graph_.value(node.inputs[1]).constant, &bias = graph_.value(node.inputs[2]).constant;
    if (!scale || !bias || scale->type() != DataType::kFloat32 || bias->type() != DataType::kFloat32) return false;
    if (scale->element_count() != match_.groups || bias->element_count() != match_.groups) return false;
    for (int64_t c = 0; c < channels_; ++c) {
      const auto group = static_cast<size_t>(c / (channels_ / match_.groups));
      match_.scale.push_back(scale->values<float>()[group]);
      match_.bias.push_back(bias->values<float>()[group]);
    }
    return true;
  }

  bool MatchViewBack() {
    const Value& normalised = graph_.value(Result());
    if (normalised.uses.size() != 1 || normalised.is_graph_output) return false;
    const NodeId back = normalised.uses[0].node;
    if (!IsReshaping(graph_.node(back)) || graph_.node(back).inputs[0] != Result()) return false;
    Take(back);
    return graph_.value(Result()).type.static_dims() == dims_;
  }

  // The numbers by channel that the only reader of the result, of that operator, combines with it; nothing where it is
  // another, or its result has other dims.
  std::optional<std::vector<float>> Follow(std::string_view op) {
    const NodeId next = OnlyReader(graph_, Result(), op);
    if (!next.valid()) return std::nullopt;
    const Node& node = graph_.node(next);
    const auto& constant = graph_.value(OtherOperand(node, Result())).constant;
    if (!constant || constant->type() != DataType::kFloat32 ||
        !IsByChannel(*constant, dims_.size(), static_cast<size_t>(channels_)) ||
        graph_.value(node.outputs[0]).type.static_dims() != dims_) {
      return std::nullopt;
    }
    const auto values = constant->values<float>();
    Take(next);
    if (values.size() == 1) return std::vector<float>(static_cast<size_t>(channels_), values[0]);
    return std::vector<float>(values.begin(), values.end());
  }

  void TakeScaleAndBias() {
    if (const auto scale = Follow("Mul")) {
      for (size_t c = 0; c < scale->size(); ++c) {
        match_.scale[c] *= (*scale)[c];
        match_.bias[c] *= (*scale)[c];
      }
    }
    if (const auto bias = Follow("Add")) {
      for (size_t c = 0; c < bias->size(); ++c) match_.bias[c] += (*bias)[c];
    }
  }

  const Graph& graph_;
  GroupMatch match_;
  std::vector<int64_t> dims_;
  int64_t channels_ = 0;
};

void ReplaceByGroups(GraphBuilder& builder, const Graph& graph, const GroupMatch& match) {
  Node node;
  node.op = "GroupNormalization";
  node.attributes["num_groups"] = match.groups;
  node.attributes["epsilon"] = match.epsilon;
  const std::vector<int64_t> channels = {static_cast<int64_t>(match.scale.size())};
  node.inputs = {match.x, builder.AddConstant("", Tensor::Float32(channels, match.scale)),
                 builder.AddConstant("", Tensor::Float32(channels, match.bias))};
  ReplaceNodes(builder, graph, match.nodes, match.last, std::move(node));
}

}  // namespace

Result<std::optional<Graph>> RecogniseGroupNormalization(const Graph& graph, const PassContext&) {
  if (graph.opset() < kGroupNormalizationSince) return {std::nullopt};
  return ReplaceMatches(graph, GroupMatcher(graph), ReplaceByGroups);
}

}  // namespace pt
