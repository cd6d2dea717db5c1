// BatchNormalization after Conv, ConvTranspose or Gemm with constant weights is a change of the weights:
// y = s·(W∗x + b − mean) + bias with s = scale / sqrt(variance + epsilon). Computed in double precision.
#include <cmath>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/support/aligned_bytes.h"

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

// Which output channel each weight element belongs to. Weights are blocks of per_group runs of `inner` elements, a run
// for each channel: all channels in a block for Conv and Gemm; ConvTranspose keeps channels / group of them behind the
// input channels of each group.
struct WeightChannels {
  size_t inner = 1, per_group = 0, groups = 1, group_inputs = 0;
  size_t first_of(size_t block) const { return group_inputs == 0 ? 0 : block / group_inputs * per_group; }
};

// Plain loops, which compilers turn into vectors; the products are rounded once.
void Scale(std::span<const float> from, double factor, float* to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(static_cast<double>(from[i]) * factor);
}
void Scale(std::span<const float> from, const double* factors, float* to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(static_cast<double>(from[i]) * factors[i]);
}

Result<Tensor> ScaledWeights(const Tensor& weights, const WeightChannels& map, const std::vector<double>& factors) {
  const std::span<const float> from = weights.values<float>();
  PT_ASSIGN(AlignedBytes scaled, AllocateAligned(from.size_bytes()));
  auto* const to = reinterpret_cast<float*>(scaled.bytes.data());
  const size_t block_size = map.per_group * map.inner;
  for (size_t at = 0, block = 0; at < from.size(); at += block_size, ++block) {
    const double* block_factors = factors.data() + map.first_of(block);
    if (map.inner == 1) {
      Scale(from.subspan(at, block_size), block_factors, to + at);
      continue;
    }
    for (size_t c = 0; c < map.per_group; ++c) {
      const size_t run = at + c * map.inner;
      Scale(from.subspan(run, map.inner), block_factors[c], to + run);
    }
  }
  return Tensor::FromShared(DataType::kFloat32, weights.dims(), std::move(scaled.owner), scaled.bytes);
}

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

Result<bool> Fold(GraphBuilder& builder, std::vector<NodeId>& producers, NodeId id) {
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

  PT_ASSIGN(Tensor scaled, ScaledWeights(*weights, *map, affine->factor));
  std::vector<float> shifted(channels);
  for (size_t c = 0; c < channels; ++c) {
    shifted[c] = static_cast<float>(static_cast<double>((*bias)[c]) * affine->factor[c] + affine->shift[c]);
  }
  const ValueId new_weights = builder.AddConstant("", std::move(scaled));
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
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    PT_ASSIGN(const bool folded, Fold(builder, producers, NodeId(i)));
    changed |= folded;
  }
  if (!changed) return {std::nullopt};
  PT_ASSIGN(Graph folded, builder.Build(false));
  return {std::optional<Graph>(std::move(folded))};
}

}  // namespace pt
