// Products of integers whose result is a real number, or is quantised again.
#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/quantized_parts.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

Status FinishProduct(Rewrite& r, const DequantizedProduct& product) {
  const Result<std::string> made = MultiplyIntegers(r, product, true);
  return made.ok() ? Status() : Status(made.error());
}

Status DynamicQuantizeMatMul(Rewrite& r) {
  const std::vector<std::string> a = r.AddMany("DynamicQuantizeLinear", {r.in(0)}, 3);
  return FinishProduct(r, {a[0], a[1], a[2], 1, 2, 3, 4});
}

Status MatMulIntegerToFloat(Rewrite& r) {
  PT_CHECK_OK(NeedBytes(r, 0, "A"));
  for (int scale : {2, 3}) {
    const auto type = r.element_type(r.in(scale));
    if (type && *type != proto::TensorProto::FLOAT)
      return Rewrite::Unsupported("scales of another type than float32 are not supported");
  }
  DequantizedProduct product = {r.in(0), "", "", 1, 3, 5, 6};
  PT_ASSIGN(product.a_scale, OneNumber(r, 2, "a_scale"));
  if (r.has(4)) {
    PT_ASSIGN(product.a_zero_point, OneNumber(r, 4, "a_zero_point"));
  }
  return FinishProduct(r, product);
}

// Scale and zero point of QGemm's B, each one number or one for each column. DequantizeLinear wants both alike.
struct ColumnScale {
  std::string scale, zero_point;
  bool by_column = false;
};

Result<ColumnScale> ColumnScaleOf(Rewrite& r, int scale, int zero_point) {
  PT_ASSIGN(const int64_t scale_rank, r.NeedRank(r.in(scale), "b_scale"));
  PT_ASSIGN(const int64_t zero_rank, r.NeedRank(r.in(zero_point), "b_zero_point"));
  ColumnScale result = {ScalarIfOne(r, scale), ScalarIfOne(r, zero_point), false};
  const bool scale_by_column = scale_rank == 1 && result.scale == r.in(scale);
  const bool zero_by_column = zero_rank == 1 && result.zero_point == r.in(zero_point);
  if (scale_by_column && !zero_by_column)
    result.zero_point = r.Add("Expand", {result.zero_point, r.Add("Shape", {result.scale})});
  if (zero_by_column && !scale_by_column)
    result.scale = r.Add("Expand", {result.scale, r.Add("Shape", {result.zero_point})});
  result.by_column = scale_by_column || zero_by_column;
  return result;
}

// C is of integers in units of alpha · a_scale · b_scale.
Status QGemm(Rewrite& r) {
  enum Input { kA, kScaleA, kZeroA, kB, kScaleB, kZeroB, kC, kScaleY, kZeroY };
  PT_ASSIGN(const std::string a, Dequantize(r, {kA, kScaleA, kZeroA}));
  PT_CHECK_OK(NeedBytes(r, kB, "B"));
  PT_ASSIGN(const ColumnScale columns, ColumnScaleOf(r, kScaleB, kZeroB));
  Attributes axis;
  if (columns.by_column) axis.push_back(IntAttribute("axis", r.Int("transB", 0) != 0 ? 0 : 1));
  const std::string b = r.Add("DequantizeLinear", {r.in(kB), columns.scale, columns.zero_point}, axis);
  std::vector<std::string> inputs = {a, b};
  if (r.has(kC)) {
    PT_ASSIGN(const std::string a_scale, OneNumber(r, kScaleA, "a_scale"));
    const std::string alpha = r.AddScalar(proto::TensorProto::FLOAT, r.Float("alpha", 1));
    const std::string unit = r.Add("Mul", {r.Add("Mul", {alpha, a_scale}), columns.scale});
    inputs.push_back(r.Add("Mul", {r.Add("Cast", {r.in(kC)}, {IntAttribute("to", proto::TensorProto::FLOAT)}), unit}));
  }
  const Attributes attributes = r.Copies({"alpha", "transA", "transB"});
  if (!r.has(kScaleY) && r.has(kZeroY)) return Rewrite::Invalid("it has a y_zero_point and no y_scale");
  if (!r.has(kScaleY)) {
    r.Finish(0, "Gemm", inputs, attributes);
    return {};
  }
  return FinishQuantized(r, r.Add("Gemm", inputs, attributes), kScaleY, kZeroY, kA);
}

void InferProduct(proto::InferenceContext& context) {
  SetElementType(context, 0, proto::TensorProto::FLOAT);
  ShapeOfProduct(context, 0, 1);
}

void InferQGemm(proto::InferenceContext& context) {
  const bool quantised = context.getNumInputs() > 7 && context.hasInput(7);
  if (quantised)
    CopyElementType(context, 0, 0);
  else
    SetElementType(context, 0, proto::TensorProto::FLOAT);
  SetShape(context, 0, {{}, {}});
}

}  // namespace

std::vector<Row> QuantizedProductRows() {
  return {
      {"DynamicQuantizeMatMul",
       {"A", "B", "b_scale", "b_zero_point?", "bias?"},
       {"Y"},
       {},
       InferProduct,
       DynamicQuantizeMatMul},
      {"MatMulIntegerToFloat",
       {"A", "B", "a_scale", "b_scale", "a_zero_point?", "b_zero_point?", "bias?"},
       {"Y"},
       {},
       InferProduct,
       MatMulIntegerToFloat},
      {"QGemm",
       {"A", "a_scale", "a_zero_point", "B", "b_scale", "b_zero_point", "C?", "y_scale?", "y_zero_point?"},
       {"Y"},
       {{"alpha", A::FLOAT}, {"transA", A::INT}, {"transB", A::INT}},
       InferQGemm,
       QGemm},
  };
}

}  // namespace pt::contrib
