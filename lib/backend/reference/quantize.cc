// Quantisation: to and from small integers and floats, and the operators that compute on integers. Products of
// integers are summed in float64, where they are exact.
#include <array>
#include <cmath>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/cast.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/small_floats.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/named_types.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// Which scale and zero point belong to an element: one for all, one along an axis, or one a block of it.
struct ParameterIndex {
  int64_t dim = 1, inner = 1, blocks = 0, block = 0;
  bool single = true;
  int64_t operator()(int64_t i) const {
    if (single) return 0;
    const int64_t along = i / inner % dim;
    return block == 0 ? along : (i / inner / dim * blocks + along / block) * inner + i % inner;
  }
};

Result<ParameterIndex> ReadParameters(const ReferenceSite& site) {
  const TensorFacts &x = site.in[0], &scale = site.in[1];
  if (site.has(2) && site.in[2].dims != scale.dims && site.in[2].count() != 1)
    return site.Invalid("scale and zero point differ in shape");
  ParameterIndex index;
  if (scale.rank() == 0 || (scale.rank() == 1 && scale.count() == 1)) return index;
  index.single = false;
  PT_ASSIGN(const size_t at, OrInvalid(ReadAxis(site.node, site.opset, x.dims.size()), site));
  index.dim = x.dims[at];
  for (size_t d = at + 1; d < x.dims.size(); ++d) index.inner *= x.dims[d];
  const int64_t given = ReadBlockSize(site.node);
  if (scale.rank() == 1 && (x.rank() > 1 || given <= 0)) {
    if (scale.dims[0] != index.dim) return site.Invalid("the scale is not one value along the axis");
    return index;
  }
  std::vector<int64_t> expected = x.dims;
  if (scale.rank() != x.rank() || scale.dims[at] == 0) return site.Invalid("the scale does not fit the input");
  index.block = given > 0 ? given : (index.dim + scale.dims[at] - 1) / scale.dims[at];
  if (index.block == 0) index.block = 1;
  index.blocks = (index.dim + index.block - 1) / index.block;
  expected[at] = index.blocks;
  if (scale.dims != expected) return site.Invalid("the scale does not fit the input");
  return index;
}

double Clamp(double x, IntegerRange range) { return std::isnan(x) ? 0 : std::min(range.high, std::max(range.low, x)); }

// A number of any type (the common ones first) at index i of an array as routines see it.
double NumberAt(DataType type, const void* data, int64_t i) {
  if (BitsOf(type) >= 8 && (IsInteger(type) || type == DataType::kFloat32)) return LoadAs<double>(type, data, i);
  if (IsInteger(type)) {  // of 4 or 2 bits: a byte each
    const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
    return is_signed ? static_cast<const int8_t*>(data)[i] : static_cast<const uint8_t*>(data)[i];
  }
  double number = 0;
  Convert(type, DataType::kFloat64, true, static_cast<const std::byte*>(data) + i * FedBytes(type), &number, 0, 1);
  return number;
}
// Integers must be in range.
void StoreNumber(DataType type, double number, bool saturate, void* data, int64_t i) {
  if (type == DataType::kUint8) {
    static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(number);
    return;
  }
  if (type == DataType::kInt8) {
    static_cast<int8_t*>(data)[i] = static_cast<int8_t>(number);
    return;
  }
  Convert(DataType::kFloat64, type, saturate, &number, static_cast<std::byte*>(data) + i * FedBytes(type), 0, 1);
}

Result<ReferenceRoutine> QuantizeLinear(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 3));
  PT_ASSIGN(const ParameterIndex index, ReadParameters(site));
  PT_ASSIGN(const DataType named, OrInvalid(ReadNamedType(site.node, "output_dtype", DataType::kUint8), site));
  const DataType to = site.has(2) ? site.in[2].type : named;
  const std::optional<IntegerRange> range = RangeOf(to);
  if (!range && !SmallFloatOf(to)) return site.Unsupported("is not supported to " + std::string(DataTypeName(to)));
  if (site.in[0].type != DataType::kFloat32 && site.in[0].type != DataType::kInt32) {
    return site.Unsupported("is not supported from " + std::string(DataTypeName(site.in[0].type)));
  }
  PT_CHECK_OK(site.Out(0, to, site.in[0].dims));
  const DataType from = site.in[0].type, scale_type = site.in[1].type;
  const bool saturate = Saturates(site.node), shifted = site.has(2);
  const bool one_zero = shifted && site.in[2].count() == 1;
  return ReferenceRoutine{[=, count = site.in[0].count()](const TensorCall& run) -> Status {
    ParallelRanges(run.team, count, 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t p = index(i);
        const auto x = static_cast<float>(NumberAt(from, run.in<void>(0), i));
        const float scaled = x / static_cast<float>(NumberAt(scale_type, run.in<void>(1), p));
        const double zero = shifted ? NumberAt(to, run.in<void>(2), one_zero ? 0 : p) : 0;
        const double number = range ? Clamp(std::nearbyint(static_cast<double>(scaled)) + zero, *range)
                                    : static_cast<double>(scaled) + zero;
        StoreNumber(to, number, saturate, run.out<void>(), i);
      }
    });
    return {};
  }};
}

Result<ReferenceRoutine> DequantizeLinear(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 3));
  PT_ASSIGN(const ParameterIndex index, ReadParameters(site));
  const DataType from = site.in[0].type, to = site.in[1].type;
  if (!RangeOf(from) && !SmallFloatOf(from))
    return site.Unsupported("is not supported from " + std::string(DataTypeName(from)));
  if (to != DataType::kFloat32) return site.Unsupported("is not supported to " + std::string(DataTypeName(to)));
  PT_ASSIGN(const DataType named, OrInvalid(ReadNamedType(site.node, "output_dtype", to), site));
  if (named != DataType::kFloat32 && named != DataType::kFloat16 && named != DataType::kBfloat16) {
    return site.Unsupported("is not supported to " + std::string(DataTypeName(named)));
  }
  PT_CHECK_OK(site.Out(0, to, site.in[0].dims));
  const bool shifted = site.has(2);
  const DataType zero_type = shifted ? site.in[2].type : from;
  const bool one_zero = shifted && site.in[2].count() == 1;
  return ReferenceRoutine{[=, count = site.in[0].count()](const TensorCall& run) -> Status {
    ParallelRanges(run.team, count, 10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t p = index(i);
        const double zero = shifted ? NumberAt(zero_type, run.in<void>(2), one_zero ? 0 : p) : 0;
        run.out<float>()[i] = static_cast<float>(NumberAt(from, run.in<void>(0), i) - zero) * run.in<float>(1)[p];
      }
    });
    return {};
  }};
}

// To uint8, with the range of the data (zero included).
Result<ReferenceRoutine> DynamicQuantizeLinear(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  if (site.in[0].type != DataType::kFloat32) return site.Unsupported("is supported for float32 only");
  PT_CHECK_OK(site.Out(0, DataType::kUint8, site.in[0].dims));
  PT_CHECK_OK(site.Out(1, DataType::kFloat32, {}));
  PT_CHECK_OK(site.Out(2, DataType::kUint8, {}));
  return ReferenceRoutine{[count = site.in[0].count()](const TensorCall& run) -> Status {
    const float* x = run.in<float>(0);
    float low = 0, high = 0;
    for (int64_t i = 0; i < count; ++i) {
      low = std::fmin(low, x[i]);
      high = std::fmax(high, x[i]);
    }
    const float scale = (high - low) / 255.0F;
    const double zero = scale == 0 ? 0 : Clamp(std::nearbyint(static_cast<double>(-low / scale)), {0, 255});
    if (run.out<float>(1) != nullptr) *run.out<float>(1) = scale;
    if (run.out<uint8_t>(2) != nullptr) *run.out<uint8_t>(2) = static_cast<uint8_t>(zero);
    for (int64_t i = 0; i < count && run.out<uint8_t>(0) != nullptr; ++i) {
      const double steps = scale == 0 ? 0 : std::nearbyint(static_cast<double>(x[i] / scale));
      run.out<uint8_t>(0)[i] = static_cast<uint8_t>(Clamp(steps + zero, {0, 255}));
    }
    return {};
  }};
}

// One integer operand: where it is, and its zero points: one for all, or one for each line of numbers along some dims.
struct Factor {
  DataType type = DataType::kUndefined;
  size_t input = 0;
  std::optional<size_t> zero;
  DataType zero_type = DataType::kUndefined;
  int64_t count = 0;                       // elements
  std::vector<int64_t> dims = {};          // of the operand, where there are several zero points
  std::vector<int64_t> zero_strides = {};  // along these

  int64_t ZeroOf(int64_t element) const {
    int64_t at = 0;
    for (size_t d = dims.size(); d-- > 0; element /= dims[d]) at += element % dims[d] * zero_strides[d];
    return at;
  }

  void Widen(const TensorCall& run, double* to) const {
    Convert(type, DataType::kFloat64, true, run.in<void>(input), to, 0, count);
    if (!zero) return;
    for (int64_t i = 0; i < count; ++i) to[i] -= NumberAt(zero_type, run.in<void>(*zero), ZeroOf(i));
  }
};

// zero_axis: the dim that a list of zero points runs along, counted from the end when negative; -1 and -2 also say that
// zero points of the operand's rank have one dim 1: the other of the last two. Small floats are taken where the
// operator has them.
Result<Factor> ReadFactor(const ReferenceSite& site, size_t input, std::optional<size_t> zero, int64_t zero_axis,
                          bool small_floats = false) {
  const TensorFacts& operand = site.in[input];
  Factor factor{operand.type, input, std::nullopt, DataType::kUndefined, operand.count()};
  if (!IsByte(operand.type) && !(small_floats && SmallFloatOf(operand.type)))
    return UnsupportedType(site, operand.type);
  if (!zero || !site.has(*zero)) return factor;
  const TensorFacts& zeros = site.in[*zero];
  factor.zero = zero;
  factor.zero_type = zeros.type;
  if (zeros.count() == 1) return factor;
  const Error misfit = site.Invalid("the zero points are not one value along the axis");
  PT_ASSIGN(const int64_t axis, site.Axis(zero_axis, operand.rank()));
  std::vector<int64_t> expected(operand.dims.size(), 1);
  if (zeros.rank() == 1) {
    expected[static_cast<size_t>(axis)] = operand.dims[static_cast<size_t>(axis)];
    if (zeros.dims[0] != expected[static_cast<size_t>(axis)]) return misfit;
  } else {
    expected = operand.dims;
    if (zero_axis < 0) expected[expected.size() - static_cast<size_t>(zero_axis == -1 ? 2 : 1)] = 1;
    if (zeros.dims != expected || zero_axis >= 0) return misfit;
  }
  factor.dims = operand.dims;
  factor.zero_strides.assign(expected.size(), 0);
  int64_t stride = 1;
  for (size_t d = expected.size(); d-- > 0;) {
    if (expected[d] != 1) factor.zero_strides[d] = stride;
    stride *= expected[d];
  }
  return factor;
}

// What becomes of an exact sum: out = f(sum, flat index of the output).
struct InnerProduct {
  ReferenceRoutine routine;
  Factor a, b;
  std::vector<int64_t> out_dims;
  int64_t out_count = 0;
};

Result<InnerProduct> MakeInnerProduct(const ReferenceSite& site, const Factor& a, const Factor& b,
                                      Result<ReferenceRoutine> (*make)(ReferenceSite&)) {
  ReferenceSite inner{site.node, site.opset, {}, {}, nullptr, site.width, site.limits};
  for (const Factor* factor : {&a, &b})
    inner.in.push_back({DataType::kFloat64, site.in[factor->input].dims, std::nullopt, true});
  inner.out.resize(1);
  Result<ReferenceRoutine> routine = make(inner);
  if (!routine.ok()) return std::move(routine).error();
  InnerProduct result{std::move(routine).value(), a, b, inner.out[0].dims, inner.out[0].count()};
  return result;
}

uint64_t Lines(int64_t count) { return (static_cast<uint64_t>(count) * sizeof(double) + 63) / 64 * 64; }

template <typename Finish>
ReferenceRoutine IntegerRoutine(InnerProduct inner, Finish finish) {
  ReferenceRoutine routine;
  const uint64_t b_at = Lines(inner.a.count), out_at = b_at + Lines(inner.b.count),
                 rest_at = out_at + Lines(inner.out_count);
  routine.scratch_bytes = rest_at + inner.routine.scratch_bytes;
  routine.run = [=, inner = std::move(inner)](const TensorCall& run) -> Status {
    auto* a = reinterpret_cast<double*>(run.scratch);
    auto* b = reinterpret_cast<double*>(run.scratch + b_at);
    auto* out = reinterpret_cast<double*>(run.scratch + out_at);
    inner.a.Widen(run, a);
    inner.b.Widen(run, b);
    const std::array<const void*, 2> inputs = {a, b};
    const std::array<void*, 1> outputs = {out};
    PT_CHECK_OK(inner.routine.run(TensorCall{inputs, outputs, run.scratch + rest_at, run.team}));
    for (int64_t i = 0; i < inner.out_count; ++i) finish(run, out[i], i);
    return {};
  };
  return routine;
}

Result<ReferenceRoutine> ToInt32(ReferenceSite& site, const InnerProduct& inner) {
  PT_CHECK_OK(site.Out(0, DataType::kInt32, inner.out_dims));
  return IntegerRoutine(inner, [](const TensorCall& run, double sum, int64_t i) {
    run.out<int32_t>()[i] = static_cast<int32_t>(static_cast<int64_t>(sum));
  });
}

Result<ReferenceRoutine> MatMulInteger(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 4));
  PT_ASSIGN(const Factor a, ReadFactor(site, 0, 2, -2));
  PT_ASSIGN(const Factor b, ReadFactor(site, 1, 3, -1));
  PT_ASSIGN(const InnerProduct inner, MakeInnerProduct(site, a, b, MakeMatMul));
  return ToInt32(site, inner);
}

Result<ReferenceRoutine> ConvInteger(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 4));
  PT_ASSIGN(const Factor x, ReadFactor(site, 0, 2, 1));
  PT_ASSIGN(const Factor w, ReadFactor(site, 1, 3, 0));
  PT_ASSIGN(const InnerProduct inner, MakeInnerProduct(site, x, w, MakeConvolution));
  return ToInt32(site, inner);
}

// Inputs of QLinearConv and QLinearMatMul alike: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias.
Result<ReferenceRoutine> Requantized(ReferenceSite& site, const InnerProduct& inner, int64_t channel_dim,
                                     int64_t channel_inner) {
  const DataType to = site.in[7].type;
  const std::optional<IntegerRange> range = RangeOf(to);
  if (!IsByte(to) && !SmallFloatOf(to)) return site.Unsupported("is not supported to " + std::string(DataTypeName(to)));
  const int64_t scales = site.in[4].count();
  for (size_t i : {size_t{1}, size_t{6}, size_t{7}}) {
    if (site.in[i].count() != 1)
      return site.Unsupported("is supported with scalar scales of its input and output only");
  }
  if (scales != 1 && scales != channel_dim) return site.Invalid("the weights' scale is not one value a channel");
  for (size_t i : {size_t{1}, size_t{4}, size_t{6}}) {
    if (site.in[i].type != DataType::kFloat32) return site.Invalid("a scale is not float32");
  }
  if (site.has(8) && (site.in[8].type != DataType::kInt32 || site.in[8].count() != channel_dim))
    return site.Invalid("the bias is not one int32 a channel");
  PT_CHECK_OK(site.Out(0, to, inner.out_dims));
  return IntegerRoutine(inner, [=](const TensorCall& run, double sum, int64_t i) {
    const int64_t channel = channel_dim == 0 ? 0 : i / channel_inner % channel_dim;
    if (run.in<int32_t>(8) != nullptr) sum += run.in<int32_t>(8)[channel];
    const double scale = static_cast<double>(*run.in<float>(1)) *
                         static_cast<double>(run.in<float>(4)[scales == 1 ? 0 : channel]) /
                         static_cast<double>(*run.in<float>(6));
    const double zero = NumberAt(to, run.in<void>(7), 0);
    const double number = range ? Clamp(std::nearbyint(sum * scale) + zero, *range) : sum * scale + zero;
    StoreNumber(to, number, true, run.out<void>(), i);
  });
}

Result<ReferenceRoutine> QLinearConv(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(8, 9));
  PT_ASSIGN(const Factor x, ReadFactor(site, 0, 2, 1));
  PT_ASSIGN(const Factor w, ReadFactor(site, 3, 5, 0));
  PT_ASSIGN(const InnerProduct inner, MakeInnerProduct(site, x, w, MakeConvolution));
  int64_t plane = 1;
  for (size_t d = 2; d < inner.out_dims.size(); ++d) plane *= inner.out_dims[d];
  return Requantized(site, inner, inner.out_dims[1], plane);
}

Result<ReferenceRoutine> QLinearMatMul(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(8, 8));
  PT_ASSIGN(const Factor a, ReadFactor(site, 0, 2, -2, true));
  PT_ASSIGN(const Factor b, ReadFactor(site, 3, 5, -1, true));
  PT_ASSIGN(const InnerProduct inner, MakeInnerProduct(site, a, b, MakeMatMul));
  return Requantized(site, inner, inner.out_dims.empty() ? 1 : inner.out_dims.back(), 1);
}

constexpr std::array kQuantizeOperators = {
    ReferenceRow{.op = "ConvInteger", .make = ConvInteger},
    ReferenceRow{.op = "DequantizeLinear", .make = DequantizeLinear, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "DynamicQuantizeLinear", .make = DynamicQuantizeLinear},
    ReferenceRow{.op = "MatMulInteger", .make = MatMulInteger},
    ReferenceRow{.op = "QLinearConv", .make = QLinearConv},
    ReferenceRow{.op = "QLinearMatMul", .make = QLinearMatMul, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "QuantizeLinear", .make = QuantizeLinear, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> QuantizeOperators() { return kQuantizeOperators; }

}  // namespace pt::reference
