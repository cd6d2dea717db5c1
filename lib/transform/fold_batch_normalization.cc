// BatchNormalization after Conv, ConvTranspose or Gemm with constant weights is a change of the weights:
// y = s·(W∗x + b − mean) + bias with s = scale / sqrt(variance + epsilon). Computed in double precision.
#include <cmath>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

const Tensor* FloatConstant(const Graph& graph, const Node& node, size_t index) {
  if (index >= node.inputs.size() || !node.inputs[index].valid()) return nullptr;
  const Value& value = graph.value(node.inputs[index]);
  return value.is_constant() && value.constant->type() == DataType::kFloat32 ? &*value.constant : nullptr;
}

// Per output channel: y = factor·x + shift.
struct Affine {
  std::vector<double> factor, shift;
};

std::optional<Affine> AffineOf(const Graph& graph, const Node& node) {
  if (!IsOp(node, "BatchNormalization") || node.int_or("training_mode", 0) != 0) return std::nullopt;
  const Tensor *scale = FloatConstant(graph, node, 1), *bias = FloatConstant(graph, node, 2),
               *mean = FloatConstant(graph, node, 3), *variance = FloatConstant(graph, node, 4);
  if (!scale || !bias || !mean || !variance) return std::nullopt;
  const auto channels = static_cast<size_t>(scale->element_count());
  for (const Tensor* t : {bias, mean, variance}) {
    if (static_cast<size_t>(t->element_count()) != channels) return std::nullopt;
  }
  const double epsilon = static_cast<double>(node.float_or("epsilon", 1e-5F));
  Affine affine;
  for (size_t c = 0; c < channels; ++c) {
    const double factor = static_cast<double>(scale->values<float>()[c]) /
                          std::sqrt(static_cast<double>(variance->values<float>()[c]) + epsilon);
    affine.factor.push_back(factor);
    affine.shift.push_back(static_cast<double>(bias->values<float>()[c]) -
                           factor * static_cast<double>(mean->values<float>()[c]));
  }
  return affine;
}

// Which output channel each weight element belongs to: channel = (flat / inner) mod channels for Conv and Gemm with
// transB; ConvTranspose keeps channels / group of them behind the input channels of each group.
struct WeightChannels {
  size_t inner = 1, per_group = 0, groups = 1, group_inputs = 0;
  size_t of(size_t flat) const {
    const size_t position = flat / inner;
    if (group_inputs == 0) return position % per_group;
    return (position / per_group / group_inputs) * per_group + position % per_group;
  }
};

std::optional<WeightChannels> ChannelsOf(const Node& node, const Tensor& weights, size_t channels) {
  const std::vector<int64_t>& dims = weights.dims();
  WeightChannels map;
  const auto product_from = [&](size_t first) {
    size_t product = 1;
    for (size_t i = first; i < dims.size(); ++i) product *= static_cast<size_t>(dims[i]);
    return product;
  };
  if (IsOp(node, "Conv") && dims.size() >= 3 && static_cast<size_t>(dims[0]) == channels) {
    map.inner = product_from(1);
    map.per_group = channels;
    return map;
  }
  if (IsOp(node, "Gemm") && dims.size() == 2 && node.float_or("alpha", 1.0F) == 1.0F &&
      node.float_or("beta", 1.0F) == 1.0F) {
    const bool transposed = node.int_or("transB", 0) != 0;
    if (static_cast<size_t>(dims[transposed ? 0 : 1]) != channels) return std::nullopt;
    map.inner = transposed ? static_cast<size_t>(dims[1]) : 1;
    map.per_group = channels;
    return map;
  }
  if (IsOp(node, "ConvTranspose") && dims.size() >= 3) {
    map.groups = static_cast<size_t>(node.int_or("group", 1));
    if (map.groups == 0 || static_cast<size_t>(dims[0]) % map.groups != 0 ||
        static_cast<size_t>(dims[1]) * map.groups != channels) {
      return std::nullopt;
    }
    map.inner = product_from(2);
    map.per_group = static_cast<size_t>(dims[1]);
    map.group_inputs = static_cast<size_t>(dims[0]) / map.groups;
    return map;
  }
  return std::nullopt;
}

// The bias as one value a channel; empty when it is there but has another shape.
std::optional<std::vector<float>> BiasOf(const Graph& graph, const Node& node, size_t channels) {
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return std::vector<float>(channels, 0.0F);
  const Tensor* bias = FloatConstant(graph, node, 2);
  if (!bias || static_cast<size_t>(bias->element_count()) != channels) return std::nullopt;
  if (bias->dims().empty() || static_cast<size_t>(bias->dims().back()) != channels) return std::nullopt;
  return std::vector<float>(bias->values<float>().begin(), bias->values<float>().end());
}

bool Fold(GraphBuilder& builder, std::vector<NodeId>& producers, NodeId id) {
  const Graph& graph = builder.graph();
  const auto affine = AffineOf(graph, graph.node(id));
  if (!affine) return false;
  const ValueId between = graph.node(id).inputs[0], out = graph.node(id).outputs[0];
  const NodeId producer = producers[between.index()];
  const Value& result = graph.value(between);
  if (!producer.valid() || result.is_graph_output || result.uses.size() != 1 || result.uses[0].node != id) return false;
  const Tensor* weights = FloatConstant(graph, graph.node(producer), 1);
  const size_t channels = affine->factor.size();
  if (!weights) return false;
  const auto map = ChannelsOf(graph.node(producer), *weights, channels);
  const auto bias = BiasOf(graph, graph.node(producer), channels);
  if (!map || !bias) return false;

  std::vector<float> scaled(weights->values<float>().begin(), weights->values<float>().end()), shifted(channels);
  for (size_t i = 0; i < scaled.size(); ++i) {
    scaled[i] = static_cast<float>(static_cast<double>(scaled[i]) * affine->factor[map->of(i)]);
  }
  for (size_t c = 0; c < channels; ++c) {
    shifted[c] = static_cast<float>(static_cast<double>((*bias)[c]) * affine->factor[c] + affine->shift[c]);
  }
  const ValueId new_weights = builder.AddConstant("", Tensor::Float32(weights->dims(), scaled));
  const ValueId new_bias = builder.AddConstant("", Tensor::Float32({static_cast<int64_t>(channels)}, shifted));
  producers.resize(builder.graph().values().size());
  if (!BypassNode(builder, producers, id, out, between)) return false;
  Node& node = builder.node(producer);
  node.inputs.resize(3);
  node.inputs[1] = new_weights;
  node.inputs[2] = new_bias;
  node.formal_inputs = 3;
  MergeSources(builder, producer, id);
  return true;
}

}  // namespace

Result<std::optional<Graph>> FoldBatchNormalization(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  std::vector<NodeId> producers = ProducerTable(graph);
  bool changed = false;
  for (size_t i = 0; i < graph.nodes().size(); ++i) changed |= Fold(builder, producers, NodeId(i));
  if (!changed) return {std::nullopt};
  PT_ASSIGN(Graph folded, builder.Build(false));
  return {std::optional<Graph>(std::move(folded))};
}

}  // namespace pt
