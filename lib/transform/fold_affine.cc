// What changes each channel of a Conv, ConvTranspose or Gemm by a factor and a shift is a change of its constant
// weights: BatchNormalization, y = s·(W∗x + b − mean) + bias with s = scale / sqrt(variance + epsilon), and Add of
// constants. A chain of these is folded at once, computed in double precision and rounded once.
#include <algorithm>
#include <cmath>

#include "lib/transform/normalisation_parts.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/gemm.h"
#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/windows.h"
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

std::optional<Affine> AffineOfNormalization(const Graph& graph, const Node& node, size_t channels) {
  const BatchNormalizationNode batch = ReadBatchNormalization(node);
  if (batch.training) return std::nullopt;
  const Tensor *scale = FloatConstant(graph, node, 1), *bias = FloatConstant(graph, node, 2),
               *mean = FloatConstant(graph, node, 3), *variance = FloatConstant(graph, node, 4);
  if (!scale || !bias || !mean || !variance) return std::nullopt;
  for (const Tensor* t : {scale, bias, mean, variance}) {
    if (static_cast<size_t>(t->element_count()) != channels) return std::nullopt;
  }
  const double epsilon = static_cast<double>(batch.epsilon);
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

std::optional<Affine> AffineOfAdd(const Graph& graph, const Node& node, ValueId product, size_t channels) {
  const size_t other = node.inputs[0] == product ? 1 : 0;
  const Tensor* const shift = FloatConstant(graph, node, other);
  const ValueType& type = graph.value(product).type;
  if (shift == nullptr || !type.ranked || !IsByChannel(*shift, type.dims.size(), channels)) return std::nullopt;
  const std::span<const float> values = shift->values<float>();
  Affine affine{std::vector<double>(channels, 1.0), std::vector<double>(channels)};
  for (size_t c = 0; c < channels; ++c) {
    affine.shift[c] = static_cast<double>(values.size() == 1 ? values[0] : values[c]);
  }
  return affine;
}

// What the node does to `product`, one of its inputs.
std::optional<Affine> AffineOf(const Graph& graph, const Node& node, ValueId product, size_t channels) {
  if (IsOp(node, "BatchNormalization")) return AffineOfNormalization(graph, node, channels);
  if (IsOp(node, "Add")) return AffineOfAdd(graph, node, product, channels);
  return std::nullopt;
}

// Which output channel each weight element belongs to. Weights are blocks of per_group runs of `inner` elements, a run
// for each channel: all channels in a block for Conv and Gemm; ConvTranspose keeps channels / group of them behind the
// input channels of each group.
struct WeightChannels {
  size_t inner = 1, per_group = 0, groups = 1, group_inputs = 0;
  size_t channels() const { return per_group * groups; }
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

size_t ProductFrom(const std::vector<int64_t>& dims, size_t first) {
  size_t product = 1;
  for (size_t i = first; i < dims.size(); ++i) product *= static_cast<size_t>(dims[i]);
  return product;
}

// nullopt where the node is no product whose channels are those of its weights.
std::optional<WeightChannels> ChannelsOf(const Node& node, const Tensor& weights) {
  const std::vector<int64_t>& dims = weights.dims();
  if (IsOp(node, "Conv") && dims.size() >= 3)
    return WeightChannels{.inner = ProductFrom(dims, 1), .per_group = static_cast<size_t>(dims[0])};
  if (IsOp(node, "Gemm") && dims.size() == 2 && !ReadGemm(node).is_scaled()) {
    const bool transposed = ReadGemm(node).transpose_b;
    return WeightChannels{.inner = transposed ? static_cast<size_t>(dims[1]) : 1,
                          .per_group = static_cast<size_t>(dims[transposed ? 0 : 1])};
  }
  if (IsOp(node, "ConvTranspose") && dims.size() >= 3) {
    const auto groups = static_cast<size_t>(ReadConvolutionGroups(node)), inputs = static_cast<size_t>(dims[0]);
    if (groups == 0 || inputs % groups != 0) return std::nullopt;
    return WeightChannels{.inner = ProductFrom(dims, 2),
                          .per_group = static_cast<size_t>(dims[1]),
                          .groups = groups,
                          .group_inputs = inputs / groups};
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

// All that follows a product and is folded into it.
struct Chain {
  Affine affine;
  std::vector<NodeId> nodes;  // in the order they are computed
};

Chain ChainBehind(const Graph& graph, ValueId product, size_t channels) {
  Chain chain{{std::vector<double>(channels, 1.0), std::vector<double>(channels, 0.0)}, {}};
  ValueId last = product;
  for (NodeId reader = OnlyReader(graph, last); reader.valid(); reader = OnlyReader(graph, last)) {
    const auto affine = AffineOf(graph, graph.node(reader), last, channels);
    if (!affine) break;
    for (size_t c = 0; c < channels; ++c) {
      chain.affine.factor[c] *= affine->factor[c];
      chain.affine.shift[c] = affine->factor[c] * chain.affine.shift[c] + affine->shift[c];
    }
    chain.nodes.push_back(reader);
    last = graph.node(reader).outputs[0];
  }
  return chain;
}

Result<bool> Fold(GraphBuilder& builder, std::vector<NodeId>& producers, NodeId product) {
  const Graph& graph = builder.graph();
  const Tensor* const weights = FloatConstant(graph, graph.node(product), 1);
  const auto map = weights != nullptr ? ChannelsOf(graph.node(product), *weights) : std::nullopt;
  if (!map) return false;
  const ValueId result = graph.node(product).outputs[0];
  const size_t channels = map->channels();
  const Chain chain = ChainBehind(graph, result, channels);
  if (chain.nodes.empty()) return false;
  const auto bias = BiasOf(graph, graph.node(product), channels);
  if (!bias) return false;

  const auto& [factor, shift] = chain.affine;
  ValueId new_weights = graph.node(product).inputs[1];
  if (std::ranges::any_of(factor, [](double f) { return f != 1.0; })) {
    PT_ASSIGN(Tensor scaled, ScaledWeights(*weights, *map, factor));
    new_weights = builder.AddConstant("", std::move(scaled));
  }
  std::vector<float> shifted(channels);
  for (size_t c = 0; c < channels; ++c) {
    shifted[c] = static_cast<float>(static_cast<double>((*bias)[c]) * factor[c] + shift[c]);
  }
  const ValueId new_bias = builder.AddConstant("", Tensor::Float32({static_cast<int64_t>(channels)}, shifted));
  producers.resize(builder.graph().values().size());
  for (NodeId folded : chain.nodes) {
    // Always possible: the product makes a value that only the chain reads.
    BypassNode(builder, producers, folded, graph.node(folded).outputs[0], result);
    MergeSources(builder, product, folded);
  }
  Node& node = builder.node(product);
  node.inputs.resize(3);
  node.inputs[1] = new_weights;
  node.inputs[2] = new_bias;
  node.formal_inputs = 3;
  return true;
}

}  // namespace

Result<std::optional<Graph>> FoldAffine(const Graph& graph, const PassContext&) {
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
