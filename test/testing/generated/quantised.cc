// Stretches on integers: dequantised before and quantised behind, and the operators that are both.
#include <algorithm>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

// A scale and a zero point, constant.
struct Parameters {
  DrawnOperand scale = nullptr, zero_point = nullptr;
};

std::string IntsText(int64_t value) { return "ints " + std::to_string(value); }

DataType AnyByte(Drawing& d) { return d.Chance(0.5) ? DataType::kInt8 : DataType::kUint8; }

// So wide that numbers of a few units are not cut off.
Parameters AnyParameters(Drawing& d, DataType type) {
  const int64_t zero_point =
      type == DataType::kInt8 ? d.OneOf(Dims{0, 0, 3, -5, 20}) : d.OneOf(Dims{128, 128, 0, 120, 7});
  return {d.Number(d.Scale(0.01, 0.06)), d.Constant(type, {}, IntsText(zero_point))};
}

DrawnOperand Quantised(Drawing& d, DrawnOperand x, DataType type) {
  const Parameters p = AnyParameters(d, type);
  return d.Node("QuantizeLinear", {x, p.scale, p.zero_point});
}

DrawnOperand Dequantised(Drawing& d, DrawnOperand x) {
  if (x == nullptr) return nullptr;
  const Parameters p = AnyParameters(d, x->type);
  return d.Node("DequantizeLinear", {x, p.scale, p.zero_point});
}

// What stands between a dequantisation and the next quantisation: from integers, or float data made into such.
DrawnOperand Start(Drawing& d, int64_t rank) {
  const DataType type = AnyByte(d);
  const DrawnOperand there = d.Find([&](const DrawnValue& v) { return v.type == type && v.rank() == rank; });
  if (there != nullptr && d.Chance(0.6)) return Dequantised(d, there);
  if (d.Chance(0.3))
    return Dequantised(d,
                       d.Input(type, rank == 4 ? Dims{d.Between(1, 2), d.Channels(), d.Between(1, 8), d.Between(1, 8)}
                                               : d.AnyDims(rank, rank)));
  return Dequantised(d, Quantised(d, rank == 4 ? d.Image(2) : d.Float(rank, rank), type));
}

void End(Drawing& d, DrawnOperand x) {
  if (x == nullptr || d.Chance(0.15)) return;
  const DataType type = AnyByte(d);
  const Parameters p = AnyParameters(d, type);
  const DrawnOperand q = d.Node("QuantizeLinear", {x, p.scale, p.zero_point});
  if (d.Chance(0.6)) d.Node("DequantizeLinear", {q, p.scale, p.zero_point});
}

// Integer weights behind a dequantisation, by one scale or one a filter.
DrawnOperand QuantisedWeights(Drawing& d, const Dims& dims, int64_t axis) {
  const DataType type = d.Chance(0.8) ? DataType::kInt8 : DataType::kUint8;
  const DrawnOperand integers = d.Constant(type, dims, "whole " + std::to_string(d.Between(1, 1'000'000)));
  const int64_t zero_point = type == DataType::kInt8 ? 0 : 128;
  if (d.Chance(0.5))
    return d.Node("DequantizeLinear",
                  {integers, d.Number(d.Scale(0.001, 0.01)), d.Constant(type, {}, IntsText(zero_point))});
  const int64_t filters = dims[static_cast<size_t>(axis)];
  std::string scales = "floats";
  for (int64_t i = 0; i < filters; ++i) scales += " " + std::to_string(d.Scale(0.001, 0.01));
  return d.Node("DequantizeLinear",
                {integers, d.Constant(kFloat, {filters}, scales),
                 d.Constant(type, {filters}, "value " + std::to_string(zero_point))},
                Attributes().Int("axis", axis));
}

void DrawQuantisedConv(Drawing& d) {
  const DrawnOperand x = Start(d, 4);
  if (x == nullptr || IsEmpty(x)) return;
  const int64_t channels = x->dims[1], groups = d.Chance(0.7) ? 1 : channels;
  const int64_t kernel = d.OneOf(Dims{1, 3, 3}), pad = kernel / 2, stride = d.Between(1, 2);
  const int64_t filters = groups == 1 ? d.Channels() : channels;
  DrawnOperand y = QuantisedWeights(d, {filters, channels / groups, kernel, kernel}, 0);
  std::vector<DrawnOperand> operands = {x, y};
  if (d.Chance(0.5)) operands.push_back(d.Constant(kFloat, {filters}));
  y = d.Node("Conv", operands,
             Attributes().Ints("pads", {pad, pad, pad, pad}).Ints("strides", {stride, stride}).Int("group", groups));
  if (y != nullptr && d.Chance(0.3)) {
    const DrawnOperand other = d.Chance(0.6) ? Dequantised(d, d.Input(AnyByte(d), y->dims)) : d.Like(kFloat, y->dims);
    y = d.Node("Add", {y, other});
  }
  if (d.Chance(0.5)) y = d.Node(d.OneOf({"Relu", "Relu", "Sigmoid", "HardSwish"}), {y});
  End(d, y);
}

void DrawQuantisedMatMul(Drawing& d) {
  const DrawnOperand x = Start(d, d.Between(2, 3));
  if (x == nullptr || IsEmpty(x)) return;
  const int64_t columns = d.OneOf(Dims{1, 3, 8, 16, 20, 32});
  const Dims dims = {x->dims.back(), columns};
  const DrawnOperand w = d.Chance(0.7) ? QuantisedWeights(d, dims, 1) : Dequantised(d, d.Input(AnyByte(d), dims));
  DrawnOperand y = d.Node("MatMul", {x, w});
  if (d.Chance(0.4)) y = d.Node("Add", {y, d.Constant(kFloat, {columns})});
  if (d.Chance(0.3)) y = d.Node("Relu", {y});
  End(d, y);
}

void DrawElementwise(Drawing& d) {
  const DrawnOperand x = Start(d, d.OneOf(Dims{2, 3, 4, 4}));
  if (x == nullptr) return;
  if (d.Chance(0.4)) {
    End(d, d.Node(d.OneOf({"Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu"}), {x}));
    return;
  }
  const DrawnOperand other = d.Chance(0.7)
                                 ? Dequantised(d, d.Input(AnyByte(d), d.Chance(0.7) ? x->dims : d.Narrowed(x->dims)))
                                 : d.Like(kFloat, x->dims);
  End(d, d.Node(d.OneOf({"Add", "Add", "Sub", "Mul", "Max"}), {x, other}));
}

void DrawPool(Drawing& d) {
  const DrawnOperand x = Start(d, 4);
  if (x == nullptr || IsEmpty(x)) return;
  if (d.Chance(0.4)) {
    End(d, d.Node("GlobalAveragePool", {x}));
    return;
  }
  const int64_t rows = d.Between(1, std::min<int64_t>(3, x->dims[2])),
                columns = d.Between(1, std::min<int64_t>(3, x->dims[3]));
  Attributes attributes;
  attributes.Ints("kernel_shape", {rows, columns}).Ints("strides", {d.Between(1, 2), d.Between(1, 2)});
  if (d.Chance(0.4)) attributes.Ints("pads", {rows / 2, columns / 2, rows / 2, columns / 2});
  End(d, d.Node(d.OneOf({"MaxPool", "AveragePool"}), {x}, attributes));
}

// Moved on integers by a pass, where the parameters on both sides are the same.
void DrawMovement(Drawing& d) {
  const DataType type = AnyByte(d);
  const Parameters p = AnyParameters(d, type);
  const DrawnOperand x =
      d.Chance(0.5) ? d.Input(type, d.AnyDims(2, 4)) : d.Node("QuantizeLinear", {d.Float(2, 4), p.scale, p.zero_point});
  DrawnOperand at = d.Node("DequantizeLinear", {x, p.scale, p.zero_point});
  if (at == nullptr) return;
  switch (d.Between(0, 4)) {
    case 0:
      at = d.Node("Transpose", {at});
      break;
    case 1:
      at = d.Node("Flatten", {at});
      break;
    case 2:
      at = d.Node("Concat", {at, at}, Attributes().Int("axis", d.Axis(at->rank())));
      break;
    case 3:
      at = d.Node("Slice", {at, d.List({1}), d.List({100}), d.List({0})});
      break;
    default:
      at = d.Node("Relu", {at});
  }
  d.Node("QuantizeLinear", {at, p.scale, p.zero_point});
}

void DrawQLinearConv(Drawing& d) {
  const DataType type = AnyByte(d);
  const DrawnOperand x = d.Input(type, {d.Between(1, 2), d.Channels(), d.Between(3, 8), d.Between(3, 8)});
  const int64_t filters = d.Channels();
  const Parameters in = AnyParameters(d, type), out = AnyParameters(d, type);
  const DrawnOperand w =
      d.Constant(DataType::kInt8, {filters, x->dims[1], 3, 3}, "whole " + std::to_string(d.Between(1, 1000)));
  const DrawnOperand y = d.Node("QLinearConv",
                                {x, in.scale, in.zero_point, w, d.Number(d.Scale(0.001, 0.01)),
                                 d.Constant(DataType::kInt8, {}, "ints 0"), out.scale, out.zero_point},
                                Attributes().Ints("pads", {1, 1, 1, 1}));
  if (d.Chance(0.5)) d.Node("DequantizeLinear", {y, out.scale, out.zero_point});
}

void DrawQLinearMatMul(Drawing& d) {
  const DataType type = AnyByte(d);
  const int64_t inner = d.Between(1, 20);
  const DrawnOperand x = d.Input(type, {d.Between(1, 6), inner});
  const Parameters in = AnyParameters(d, type), out = AnyParameters(d, type);
  const DrawnOperand w =
      d.Constant(DataType::kInt8, {inner, d.Between(1, 20)}, "whole " + std::to_string(d.Between(1, 1000)));
  d.Node("QLinearMatMul", {x, in.scale, in.zero_point, w, d.Number(d.Scale(0.001, 0.01)),
                           d.Constant(DataType::kInt8, {}, "ints 0"), out.scale, out.zero_point});
}

// What dynamically quantised models have behind sums of integers: their real numbers, a constant for each channel, an
// activation. `channels`: dims of what varies by channel.
void EndDynamic(Drawing& d, DrawnOperand sums, DrawnOperand scale, const Dims& channels, bool by_channel) {
  if (sums == nullptr) return;
  const DrawnOperand weights = by_channel ? d.Constant(kFloat, channels) : d.Number(0.005);
  DrawnOperand y = d.Node("Mul", {d.Node("Cast", {sums}, Attributes().Int("to", 1)), d.Node("Mul", {scale, weights})});
  if (d.Chance(0.6)) y = d.Node("Add", {y, d.Constant(kFloat, channels)});
  if (d.Chance(0.4)) d.Node(d.OneOf({"Relu", "Sigmoid", "Tanh"}), {y});
}

std::string AnyZeroPoints(Drawing& d, DataType type) {
  if (d.Chance(0.3)) return "whole " + std::to_string(d.Between(1, 1000));
  return "value " + std::to_string(type == DataType::kUint8 ? d.OneOf(Dims{128, 0, 77}) : d.OneOf(Dims{0, 0, -9}));
}

void DrawDynamicMatMul(Drawing& d) {
  const DrawnOperand x = d.Float(2, 3);
  if (x == nullptr || IsEmpty(x)) return;
  const std::vector<DrawnOperand> q = d.Node("DynamicQuantizeLinear", {x}, {}, {true, true, true});
  if (q.empty()) return;
  const DataType type = AnyByte(d);
  const int64_t columns = d.Between(1, 40);
  const Dims dims = {x->dims.back(), columns};
  const DrawnOperand w =
      d.Chance(0.8) ? d.Constant(type, dims, "whole " + std::to_string(d.Between(1, 1000))) : d.Input(type, dims);
  const bool by_column = d.Chance(0.5);
  const DrawnOperand zeros = d.Constant(type, by_column ? Dims{columns} : Dims{}, AnyZeroPoints(d, type));
  EndDynamic(d, d.Node("MatMulInteger", {q[0], w, q[2], zeros}), q[1], {columns}, by_column);
}

void DrawDynamicConv(Drawing& d) {
  const DrawnOperand x = d.Image(2);
  if (x == nullptr || IsEmpty(x)) return;
  const std::vector<DrawnOperand> q = d.Node("DynamicQuantizeLinear", {x}, {}, {true, true, true});
  if (q.empty()) return;
  const DataType type = AnyByte(d);
  const int64_t channels = x->dims[1], groups = d.Chance(0.7) ? 1 : channels;
  const int64_t filters = groups == 1 ? d.Channels() : channels, kernel = d.OneOf(Dims{1, 3, 3}), pad = kernel / 2,
                stride = d.Between(1, 2);
  const DrawnOperand w =
      d.Constant(type, {filters, channels / groups, kernel, kernel}, "whole " + std::to_string(d.Between(1, 1000)));
  const DrawnOperand sums =
      d.Node("ConvInteger", {q[0], w, q[2], d.Constant(type, {}, AnyZeroPoints(d, type))},
             Attributes().Ints("pads", {pad, pad, pad, pad}).Ints("strides", {stride, stride}).Int("group", groups));
  EndDynamic(d, sums, q[1], {filters, 1, 1}, d.Chance(0.3));
}

}  // namespace

DrawnFamily QuantisedFamily() {
  return {"quantised",
          {{"Conv on integers", DrawQuantisedConv},
           {"Conv on integers", DrawQuantisedConv},
           {"MatMul on integers", DrawQuantisedMatMul},
           {"element-wise on integers", DrawElementwise},
           {"pooling on integers", DrawPool},
           {"movement on integers", DrawMovement},
           {"QLinearConv", DrawQLinearConv},
           {"QLinearMatMul", DrawQLinearMatMul},
           {"dynamic quantisation, MatMul", DrawDynamicMatMul},
           {"dynamic quantisation, Conv", DrawDynamicConv}},
          2};
}

}  // namespace pt::testing
