#include "lib/backend/onednn/pointwise.h"

#include <algorithm>
#include <cmath>

#include "lib/backend/onednn/unary.h"
#include "partitiontuner/graph/operators/normalizations.h"

namespace pt::onednn {
namespace {

using Algorithm = dnnl::algorithm;
using Ops = std::vector<Pointwise>;

const std::vector<int64_t> kNoDims;

std::vector<int64_t> KnownDims(const Graph& graph, ValueId value) {
  return graph.value(value).type.static_dims().value_or(kNoDims);
}

bool BroadcastsTo(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  if (from.size() > to.size()) return false;
  const size_t missing = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[missing + i]) return false;
  }
  return true;
}

Pointwise Binary(Algorithm algorithm, SecondOperand operand) {
  Pointwise op;
  op.kind = Pointwise::Kind::kBinary;
  op.algorithm = algorithm;
  op.operand = std::move(operand);
  return op;
}

SecondOperand OperandOf(const Graph& graph, ValueId value) {
  return {value, graph.value(value).constant, KnownDims(graph, value)};
}

// ---- operators of two or more inputs
// -------------------------------------------------------------------------

// x·c and x+c. The zero that is added is negative, so that the sign of a zero stays what the definition makes it.
Pointwise Times(float c) { return Eltwise(Algorithm::eltwise_linear, c, -0.0F); }
Pointwise Plus(float c) { return Eltwise(Algorithm::eltwise_linear, 1.0F, c); }

// main OP c, or c OP main when swapped.
std::optional<Ops> ScalarOps(const std::string& op, float c, bool swapped) {
  if (op == "Add" || op == "Sum") return Ops{Plus(c)};
  if (op == "Sub") return Ops{swapped ? Eltwise(Algorithm::eltwise_linear, -1.0F, c) : Plus(-c)};
  if (op == "Mul") return Ops{Times(c)};
  if (op == "Div" && swapped) return Ops{Eltwise(Algorithm::eltwise_pow, c, -1.0F)};
  if (op == "Div" && std::isnormal(1.0F / c)) return Ops{Times(1.0F / c)};
  if (op == "Pow" && c == 0.5F) return std::nullopt;  // oneDNN takes the square root, which -infinity has none of
  if (op == "Pow" && !swapped) return Ops{Eltwise(Algorithm::eltwise_pow, 1.0F, c)};
  return std::nullopt;
}

std::optional<Ops> TensorOps(const std::string& op, SecondOperand operand, bool swapped) {
  if (op == "Add" || op == "Sum") return Ops{Binary(Algorithm::binary_add, std::move(operand))};
  if (op == "Mul") return Ops{Binary(Algorithm::binary_mul, std::move(operand))};
  if (op == "Max") return Ops{Binary(Algorithm::binary_max, std::move(operand))};
  if (op == "Min") return Ops{Binary(Algorithm::binary_min, std::move(operand))};
  if (op == "Sub" && swapped) {
    return Ops{Eltwise(Algorithm::eltwise_linear, -1.0F), Binary(Algorithm::binary_add, std::move(operand))};
  }
  if (op == "Sub") return Ops{Binary(Algorithm::binary_sub, std::move(operand))};
  if (op == "Div" && !swapped) return Ops{Binary(Algorithm::binary_div, std::move(operand))};
  if (op == "PRelu" && !swapped) {
    Pointwise prelu = Binary(Algorithm::undef, std::move(operand));
    prelu.kind = Pointwise::Kind::kPrelu;
    return Ops{std::move(prelu)};
  }
  return std::nullopt;
}

bool IsManyInputOperator(const std::string& op) {
  return op == "Add" || op == "Sub" || op == "Mul" || op == "Div" || op == "Pow" || op == "Max" || op == "Min" ||
         op == "Sum" || op == "PRelu";
}

std::optional<Ops> ManyInputOps(const Graph& graph, const Node& node, ValueId main, const std::vector<int64_t>& dims) {
  Ops ops;
  bool main_seen = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId other = node.inputs[i];
    if (other == main && !main_seen) {
      main_seen = true;
      continue;
    }
    if (!other.valid() || !IsStaticFloat(graph, other)) return std::nullopt;
    const bool swapped = !main_seen;
    const Value& value = graph.value(other);
    std::optional<Ops> more;
    if (value.constant && value.constant->element_count() == 1) {
      more = ScalarOps(node.op, value.constant->values<float>()[0], swapped);
    }
    if (!more && BroadcastsTo(KnownDims(graph, other), dims)) {
      more = TensorOps(node.op, OperandOf(graph, other), swapped);
    }
    if (!more) return std::nullopt;
    for (Pointwise& op : *more) Append(ops, std::move(op));
  }
  return ops;
}

// y = x·s + b per channel; exact up to rounding, as the definition's order of operations is left
// open.
std::optional<Ops> BatchNormOps(const Graph& graph, const Node& node, const std::vector<int64_t>& dims) {
  const BatchNormalizationNode batch = ReadBatchNormalization(node);
  if (batch.training || node.inputs.size() != 5 || dims.size() < 2) return std::nullopt;
  std::span<const float> parts[4];
  for (size_t i = 0; i < 4; ++i) {
    const Value& value = graph.value(node.inputs[i + 1]);
    if (!value.constant || value.constant->type() != DataType::kFloat32 || value.constant->element_count() != dims[1]) {
      return std::nullopt;
    }
    parts[i] = value.constant->values<float>();
  }
  const double epsilon = batch.epsilon;
  const auto channels = static_cast<size_t>(dims[1]);
  std::vector<float> scale(channels), shift(channels);
  for (size_t c = 0; c < channels; ++c) {
    const double s = parts[0][c] / std::sqrt(static_cast<double>(parts[3][c]) + epsilon);
    scale[c] = static_cast<float>(s);
    shift[c] = static_cast<float>(parts[1][c] - s * parts[2][c]);
    if (!std::isfinite(scale[c]) || !std::isfinite(shift[c])) return std::nullopt;
  }
  std::vector<int64_t> per_channel(dims.size() - 1, 1);
  per_channel[0] = dims[1];
  return Ops{Binary(Algorithm::binary_mul, {ValueId(), Tensor::Float32(per_channel, scale), per_channel}),
             Binary(Algorithm::binary_add, {ValueId(), Tensor::Float32(per_channel, shift), per_channel})};
}

bool IsLinear(const Pointwise& op) {
  return op.kind == Pointwise::Kind::kEltwise && op.algorithm == Algorithm::eltwise_linear;
}

// (x·a + b)·c + d may become x·ac + (bc + d) only where rounding, overflow and underflow leave the same: in
// (x + 12582912) - 12582912 the rounding is the purpose.
bool MergesExactly(const Pointwise& first, const Pointwise& second) {
  constexpr float kSmallest = 1e-4F, kLargest = 1e4F;
  const auto moderate = [](float factor) { return std::abs(factor) >= kSmallest && std::abs(factor) <= kLargest; };
  const float carried = first.beta * second.alpha;
  return moderate(first.alpha) && moderate(second.alpha) && moderate(first.alpha * second.alpha) &&
         std::isfinite(carried + second.beta) && carried * second.beta >= 0;
}

}  // namespace

Pointwise Eltwise(dnnl::algorithm algorithm, float alpha, float beta) {
  Pointwise op;
  op.algorithm = algorithm;
  op.alpha = alpha;
  op.beta = beta;
  return op;
}

bool MistakesInfinity(const Pointwise& op) {
  constexpr auto kAvx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return op.algorithm == Algorithm::eltwise_gelu_erf &&
         (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kAvx512) == kAvx512;
}

bool IsStaticFloat(const Graph& graph, ValueId value) {
  const ValueType& type = graph.value(value).type;
  if (type.type != DataType::kFloat32 || !type.is_static() || type.dims.size() > DNNL_MAX_NDIMS) return false;
  return std::all_of(type.dims.begin(), type.dims.end(), [](const Dim& d) { return d.value > 0; });
}

bool IsPointwiseOperator(const Node& node) {
  if (!node.domain.empty()) return false;
  const UnaryOperator* unary = FindUnary(node);
  return node.op == "BatchNormalization" || IsManyInputOperator(node.op) || (unary != nullptr && unary->ops != nullptr);
}

std::optional<Ops> PointwiseOf(const Graph& graph, const Node& node, ValueId main) {
  if (!IsPointwiseOperator(node) || node.outputs.empty() || !node.outputs[0].valid()) return std::nullopt;
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) return std::nullopt;
  }
  if (graph.value(main).is_constant() || !IsStaticFloat(graph, main) || !IsStaticFloat(graph, node.outputs[0])) {
    return std::nullopt;
  }
  const std::vector<int64_t> dims = KnownDims(graph, main);
  if (dims != KnownDims(graph, node.outputs[0])) return std::nullopt;
  if (IsManyInputOperator(node.op)) return ManyInputOps(graph, node, main, dims);
  if (node.inputs.empty() || node.inputs[0] != main) return std::nullopt;
  if (node.op == "BatchNormalization") return BatchNormOps(graph, node, dims);
  return FindUnary(node)->ops(graph, node);
}

ValueId MainInput(const Graph& graph, const Node& node) {
  if (!IsPointwiseOperator(node)) return {};
  for (ValueId input : node.inputs) {
    if (input.valid() && PointwiseOf(graph, node, input)) return input;
  }
  return {};
}

void Append(Ops& ops, Pointwise op) {
  if (!ops.empty() && IsLinear(op) && IsLinear(ops.back()) && MergesExactly(ops.back(), op)) {
    Pointwise& last = ops.back();
    last.beta = op.beta == 0 ? last.beta * op.alpha : last.beta * op.alpha + op.beta;
    last.alpha *= op.alpha;
    if (last.beta == 0) last.beta = -0.0F;
    if (last.alpha == 1.0F && last.beta == 0.0F) ops.pop_back();
    return;
  }
  ops.push_back(std::move(op));
}

}  // namespace pt::onednn
