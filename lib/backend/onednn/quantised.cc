#include "lib/backend/onednn/quantised.h"

#include <algorithm>

#include "lib/backend/onednn/family.h"

namespace pt::onednn {
namespace {

using Algorithm = dnnl::algorithm;

float ScaleOf(const Quantised& quantised) { return quantised.quantisation.scales[0]; }
float ZeroOf(const Quantised& quantised) { return static_cast<float>(quantised.quantisation.zero_points[0]); }

bool HasOneZeroPoint(const LinearQuantisation& quantisation) {
  const auto& points = quantisation.zero_points;
  return std::ranges::all_of(points, [&](int64_t point) { return point == points[0]; });
}

Argument NumbersArgument(KernelDescriptor& descriptor, int key, DataType type, Tensor numbers) {
  const Desc plain = PlainDesc({numbers.element_count()}, type);
  return ConstantArgument(descriptor, key, std::move(numbers), plain, plain);
}

}  // namespace

std::optional<Quantised> QuantisedBy(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  auto quantisation = LinearQuantisationOf(graph, node);
  if (!quantisation || !IsByte(quantisation->type)) return std::nullopt;
  const auto dims = graph.value(node.inputs[0]).type.static_dims();
  if (!dims || dims->size() > DNNL_MAX_NDIMS || std::ranges::count(*dims, 0) != 0) return std::nullopt;
  const bool from_integers = IsDequantisation(node);
  return Quantised{id, from_integers ? node.outputs[0] : node.inputs[0],
                   from_integers ? node.inputs[0] : node.outputs[0], std::move(*quantisation)};
}

std::optional<Quantised> Dequantisation(const Graph& graph, ValueId real) {
  const Value& value = graph.value(real);
  if (!value.producer.valid() || value.is_graph_output || value.uses.size() != 1) return std::nullopt;
  if (!IsDequantisation(graph.node(value.producer))) return std::nullopt;
  return QuantisedBy(graph, value.producer);
}

std::optional<Quantised> Quantisation(const Graph& graph, ValueId real) {
  const Value& value = graph.value(real);
  if (value.is_graph_output || value.uses.size() != 1 || value.uses[0].input != 0) return std::nullopt;
  if (!IsQuantisation(graph.node(value.uses[0].node))) return std::nullopt;
  return QuantisedBy(graph, value.uses[0].node);
}

bool TakesIntegers(const Pointwise& op, const Quantised& operand) {
  if (op.kind != Pointwise::Kind::kBinary || op.operand.constant || !operand.quantisation.is_whole()) return false;
  switch (op.algorithm) {
    case Algorithm::binary_add:
    case Algorithm::binary_sub:
    case Algorithm::binary_max:
    case Algorithm::binary_min:
      return true;
    case Algorithm::binary_mul:
      return operand.quantisation.zero_points[0] == 0;
    default:
      return false;
  }
}

// In units of the operand: t + s·(b - z) = s·(t/s - z + b), and alike for the others.
std::vector<Pointwise> OnIntegers(const Pointwise& op, const Quantised& operand) {
  const float scale = ScaleOf(operand), zero = ZeroOf(operand);
  if (op.algorithm == Algorithm::binary_mul) return {op, Eltwise(Algorithm::eltwise_linear, scale, -0.0F)};
  const bool add = op.algorithm == Algorithm::binary_add, sub = op.algorithm == Algorithm::binary_sub;
  return {Eltwise(Algorithm::eltwise_linear, 1.0F / scale, add ? -zero : zero), op,
          Eltwise(Algorithm::eltwise_linear, scale, add || sub ? -0.0F : -zero * scale)};
}

Pointwise ToReal(const Quantised& read) {
  return Eltwise(Algorithm::eltwise_linear, ScaleOf(read), -ZeroOf(read) * ScaleOf(read));
}

Pointwise FromReal(const Quantised& written) {
  return Eltwise(Algorithm::eltwise_linear, 1.0F / ScaleOf(written), ZeroOf(written));
}

std::vector<Pointwise> FromRealExactly(const Quantised& written) {
  Pointwise divided;
  divided.kind = Pointwise::Kind::kBinary;
  divided.algorithm = Algorithm::binary_div;
  divided.operand = {ValueId(), Tensor::Float32({1}, {ScaleOf(written)}), {1}};
  std::vector<Pointwise> ops{std::move(divided), Eltwise(Algorithm::eltwise_round)};
  if (ZeroOf(written) != 0) ops.push_back(Eltwise(Algorithm::eltwise_linear, 1.0F, ZeroOf(written)));
  return ops;
}

Status AddQuantisation(dnnl::primitive_attr& attributes, KernelDescriptor& descriptor, int key,
                       const LinearQuantisation& quantisation, int mask) {
  const auto count = static_cast<int64_t>(quantisation.scales.size());
  attributes.set_scales_mask(key, mask);
  descriptor.call.arguments.push_back(NumbersArgument(descriptor, DNNL_ARG_ATTR_SCALES | key, DataType::kFloat32,
                                                      Tensor::Float32({count}, quantisation.scales)));
  return AddZeroPoint(attributes, descriptor, key, quantisation);
}

Status AddZeroPoint(dnnl::primitive_attr& attributes, KernelDescriptor& descriptor, int key,
                    const LinearQuantisation& quantisation) {
  if (!HasOneZeroPoint(quantisation)) return Unsupported("zero points differ along an axis");
  if (quantisation.zero_points[0] == 0) return {};
  attributes.set_zero_points_mask(key, 0);
  const auto zero = static_cast<int32_t>(quantisation.zero_points[0]);
  descriptor.call.arguments.push_back(NumbersArgument(descriptor, DNNL_ARG_ATTR_ZERO_POINTS | key, DataType::kInt32,
                                                      Tensor::Of<int32_t>(DataType::kInt32, {1}, std::span(&zero, 1))));
  return {};
}

std::optional<Tensor> SymmetricWeights(const Graph& graph, const Quantised& weights) {
  const auto& constant = graph.value(weights.integers).constant;
  if (!constant || !weights.quantisation.has_centred_zeros()) return std::nullopt;
  if (weights.quantisation.type != DataType::kUint8) return constant;
  return MovedToInt8(*constant);
}

Tensor MovedToInt8(const Tensor& numbers) {
  std::vector<int8_t> moved;
  moved.reserve(static_cast<size_t>(numbers.element_count()));
  for (const uint8_t number : numbers.values<uint8_t>()) moved.push_back(static_cast<int8_t>(number - 128));
  return Tensor::Of<int8_t>(DataType::kInt8, numbers.dims(), moved);
}

Tensor DequantisedConstant(const Graph& graph, const Quantised& integers) {
  const Tensor& constant = *graph.value(integers.integers).constant;
  const LinearQuantisation& quantisation = integers.quantisation;
  int64_t inner = 1;
  const auto& dims = constant.dims();
  for (size_t d = static_cast<size_t>(quantisation.axis + 1); !quantisation.is_whole() && d < dims.size(); ++d) {
    inner *= dims[d];
  }
  const std::vector<int64_t> numbers = constant.ToInts();
  std::vector<float> real(numbers.size());
  for (size_t i = 0; i < real.size(); ++i) {
    const size_t p = i / static_cast<size_t>(inner) % quantisation.scales.size();
    real[i] = static_cast<float>(numbers[i] - quantisation.zero_points[quantisation.is_whole() ? 0 : p]) *
              quantisation.scales[quantisation.is_whole() ? 0 : p];
  }
  return Tensor::Float32(dims, real);
}

bool HasExactIntegerProducts() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [&](dnnl::cpu_isa wanted) {
    return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
  };
  return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni);
}

}  // namespace pt::onednn
