// What changes each channel of a Conv, ConvTranspose, Gemm or MatMul by a factor and a shift is a change of its
// constant weights: BatchNormalization, y = s·(W∗x + b − mean) + bias with s = scale / sqrt(variance + epsilon), and
// constants that are added or multiplied. A chain of these is folded at once, computed in double precision and rounded
// once. Reshapes that keep the channels last may lie between: exporters flatten what BatchNormalization is to see as
// rows.
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

// A result of a product, or what was made of it, and which of its dims the channels are.
struct Channels {
  ValueId value;
  size_t count = 0;
  bool last = false;  // of all dims; else the second

  bool are_second(size_t rank) const { return !last || rank == 2; }
};

// One number for each channel, or for all of them, that adds no dims.
bool IsByChannel(const Graph& graph, const Tensor& constant, const Channels& channels) {
  const ValueType& type = graph.value(channels.value).type;
  if (!type.ranked) return false;
  if (channels.are_second(type.dims.size())) return IsByChannel(constant, type.dims.size(), channels.count);
  const std::vector<int64_t>& dims = constant.dims();
  if (dims.size() > type.dims.size()) return false;
  const auto count = static_cast<size_t>(constant.element_count());
  return count == 1 || (count == channels.count && static_cast<size_t>(dims.back()) == count);
}

// Factors that leave weights far from the ends of float32's range.
bool IsModest(double factor) { return factor == 0 || (std::abs(factor) > 0x1p-40 && std::abs(factor) < 0x1p40); }

std::optional<Affine> AffineOfArithmetic(const Graph& graph, const Node& node, const Channels& channels) {
  const bool first = node.inputs[0] == channels.value;
  const Tensor* const constant = FloatConstant(graph, node, first ? 1 : 0);
  if (constant == nullptr || !IsByChannel(graph, *constant, channels)) return std::nullopt;
  const bool divides = IsOp(node, "Div"), subtracts = IsOp(node, "Sub");
  if ((divides || subtracts) && !first) return std::nullopt;
  const bool shifts = subtracts || IsOp(node, "Add");
  const std::span<const float> values = constant->values<float>();
  Affine affine{std::vector<double>(channels.count, 1.0), std::vector<double>(channels.count, 0.0)};
  for (size_t c = 0; c < channels.count; ++c) {
    const auto value = static_cast<double>(values.size() == 1 ? values[0] : values[c]);
    if (shifts) {
      affine.shift[c] = subtracts ? -value : value;
    } else {
      affine.factor[c] = divides ? 1 / value : value;
      if (!IsModest(affine.factor[c])) return std::nullopt;
    }
  }
  return affine;
}

// What the node does to the channels that it reads.
std::optional<Affine> AffineOf(const Graph& graph, const Node& node, const Channels& channels) {
  if (IsOp(node, "BatchNormalization")) {
    const ValueType& type = graph.value(channels.value).type;
    if (!type.ranked || !channels.are_second(type.dims.size())) return std::nullopt;
    return AffineOfNormalization(graph, node, channels.count);
  }
  for (const std::string_view op : {"Add", "Sub", "Mul", "Div"}) {
    if (IsOp(node, op)) return AffineOfArithmetic(graph, node, channels);
  }
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
  if (IsOp(node, "MatMul") && dims.size() == 2) return WeightChannels{.per_group = static_cast<size_t>(dims[1])};
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

// Weights that others read, too, would be there twice.
bool AreShared(const Graph& graph, const Node& node) { return graph.value(node.inputs[1]).uses.size() > 1; }

// Exporters write MatMul's bias as an Add behind it; Conv, ConvTranspose and Gemm have an input for it.
bool HasBiasInput(const Node& node) { return !IsOp(node, "MatMul"); }

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
  struct Link {
    NodeId node;
    ValueId instead;  // of its result: the product's, or its last Reshape
  };
  Affine affine;
  std::vector<Link> links;  // in the order they are computed
  bool multiplies = false;  // by constants of Mul or Div

  bool scales() const {
    return std::ranges::any_of(affine.factor, [](double f) { return f != 1.0; });
  }
};

// Gives the same rows of channels under other dims.
bool KeepsRows(const Graph& graph, const Node& node, const Channels& channels) {
  if (!channels.last || !IsReshaping(node)) return false;
  const auto before = graph.value(channels.value).type.static_dims();
  const auto after = graph.value(node.outputs[0]).type.static_dims();
  return before && after && !before->empty() && !after->empty() && before->back() == after->back();
}

Chain ChainBehind(const Graph& graph, Channels channels) {
  Chain chain{{std::vector<double>(channels.count, 1.0), std::vector<double>(channels.count, 0.0)}, {}};
  ValueId instead = channels.value;
  while (true) {
    const NodeId reader = OnlyReader(graph, channels.value);
    if (!reader.valid()) break;
    const Node& node = graph.node(reader);
    if (KeepsRows(graph, node, channels)) {
      channels.value = instead = node.outputs[0];
      continue;
    }
    const auto affine = AffineOf(graph, node, channels);
    if (!affine) break;
    for (size_t c = 0; c < channels.count; ++c) {
      chain.affine.factor[c] *= affine->factor[c];
      chain.affine.shift[c] = affine->factor[c] * chain.affine.shift[c] + affine->shift[c];
    }
    chain.multiplies |= IsOp(node, "Mul") || IsOp(node, "Div");
    chain.links.push_back({reader, instead});
    channels.value = node.outputs[0];
  }
  return chain;
}

// The product's result, with the shift, under the name that its readers know.
void AddBehind(GraphBuilder& builder, NodeId product, ValueId shift) {
  const ValueId result = builder.graph().node(product).outputs[0];
  const ValueId bare = builder.AddValue("", builder.graph().value(result).type);
  Node add;
  add.op = "Add";
  add.source = builder.graph().node(product).source;
  add.inputs = {bare, shift};
  add.outputs = {result};
  builder.node(product).outputs[0] = bare;
  builder.AddNode(std::move(add));
}

// As the product's third input, or behind it.
void SetBias(GraphBuilder& builder, NodeId product, const std::vector<float>& bias) {
  const bool takes_bias = HasBiasInput(builder.graph().node(product));
  if (!takes_bias && std::ranges::all_of(bias, [](float shift) { return shift == 0; })) return;
  const ValueId constant = builder.AddConstant("", Tensor::Float32({static_cast<int64_t>(bias.size())}, bias));
  if (!takes_bias) return AddBehind(builder, product, constant);
  Node& node = builder.node(product);
  node.inputs.resize(3);
  node.inputs[2] = constant;
  node.formal_inputs = 3;
}

Result<bool> Fold(GraphBuilder& builder, std::vector<NodeId>& producers, NodeId product) {
  const Graph& graph = builder.graph();
  const Tensor* const weights = FloatConstant(graph, graph.node(product), 1);
  const auto map = weights != nullptr ? ChannelsOf(graph.node(product), *weights) : std::nullopt;
  if (!map) return false;
  const size_t channels = map->channels();
  const bool last = IsOp(graph.node(product), "Gemm") || IsOp(graph.node(product), "MatMul");
  const Chain chain = ChainBehind(graph, {graph.node(product).outputs[0], channels, last});
  if (chain.links.empty()) return false;
  if (!chain.scales() && !HasBiasInput(graph.node(product))) return false;
  if (chain.multiplies && AreShared(graph, graph.node(product))) return false;
  const auto bias = BiasOf(graph, graph.node(product), channels);
  if (!bias) return false;

  const auto& [factor, shift] = chain.affine;
  if (chain.scales()) {
    PT_ASSIGN(Tensor scaled, ScaledWeights(*weights, *map, factor));
    const ValueId new_weights = builder.AddConstant("", std::move(scaled));
    builder.node(product).inputs[1] = new_weights;
  }
  std::vector<float> shifted(channels);
  for (size_t c = 0; c < channels; ++c) {
    shifted[c] = static_cast<float>(static_cast<double>((*bias)[c]) * factor[c] + shift[c]);
  }
  producers.resize(builder.graph().values().size());
  for (const auto& [folded, instead] : chain.links) {
    // Always possible: what is read instead is a value that only the chain reads.
    BypassNode(builder, producers, folded, graph.node(folded).outputs[0], instead);
    MergeSources(builder, product, folded);
  }
  SetBias(builder, product, shifted);
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
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
