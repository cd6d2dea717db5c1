// Operators on quantised tensors: DequantizeLinear, the operator in float32, QuantizeLinear. Candidates on integers are
// made of that again, where a library has kernels for them.
#include <algorithm>
#include <numeric>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/quantized_parts.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

// One input, and the places of scales and zero points that most operators share.
constexpr Quantized kFirst = {0, 1, 2};
constexpr int kScaleOut = 3, kZeroPointOut = 4;

Status FinishLikeFirst(Rewrite& r, const std::string& value) {
  return FinishQuantized(r, value, kScaleOut, kZeroPointOut, 0);
}

Status Binary(Rewrite& r, const std::string& op) {
  PT_ASSIGN(const std::string a, Dequantize(r, kFirst));
  PT_ASSIGN(const std::string b, Dequantize(r, {3, 4, 5}));
  return FinishQuantized(r, r.Add(op, {a, b}), 6, 7, 0);
}
Status QLinearAdd(Rewrite& r) { return Binary(r, "Add"); }
Status QLinearMul(Rewrite& r) { return Binary(r, "Mul"); }

Status QLinearSigmoid(Rewrite& r) {
  PT_ASSIGN(const std::string x, Dequantize(r, kFirst));
  return FinishLikeFirst(r, r.Add("Sigmoid", {x}));
}

Status QLinearLeakyRelu(Rewrite& r) {
  PT_ASSIGN(const std::string x, Dequantize(r, kFirst));
  return FinishLikeFirst(r, r.Add("LeakyRelu", {x}, r.Copies({"alpha"})));
}

// Before opset 13 Softmax went over all dims from the axis on.
Status QLinearSoftmax(Rewrite& r) {
  PT_ASSIGN(const std::string x, Dequantize(r, kFirst));
  const int64_t axis = r.Int("axis", -1), opset = r.Int("opset", 0);
  if (opset < 1) return Rewrite::Invalid("opset " + std::to_string(opset) + " has no Softmax");
  if (opset >= 13 || axis == -1) return FinishLikeFirst(r, r.Add("Softmax", {x}, {IntAttribute("axis", axis)}));
  const std::string flat = r.Add("Flatten", {x}, {IntAttribute("axis", axis)});
  const std::string shares = r.Add("Softmax", {flat}, {IntAttribute("axis", 1)});
  return FinishLikeFirst(r, r.Add("Reshape", {shares, r.Add("Shape", {x})}));
}

// Moves the last dim behind the first, or back.
std::string MoveChannels(Rewrite& r, const std::string& x, int64_t rank, bool to_front) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (to_front)
    std::rotate(order.begin() + 1, order.end() - 1, order.end());
  else
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return r.Add("Transpose", {x}, {IntsAttribute("perm", order)});
}

Status Pool(Rewrite& r, const std::string& op, std::optional<int64_t> rank, const Attributes& attributes) {
  PT_ASSIGN(std::string x, Dequantize(r, kFirst));
  if (r.Int("channels_last", 0) == 0) return FinishLikeFirst(r, r.Add(op, {x}, attributes));
  if (!rank) {
    PT_ASSIGN(rank, r.NeedRank(r.in(0), "X"));
  }
  if (*rank < 3) return Rewrite::Invalid("its input has " + std::to_string(*rank) + " dims; 3 are needed at least");
  const std::string pooled = r.Add(op, {MoveChannels(r, x, *rank, true)}, attributes);
  return FinishLikeFirst(r, MoveChannels(r, pooled, *rank, false));
}

Status QLinearAveragePool(Rewrite& r) {
  return Pool(r, "AveragePool", static_cast<int64_t>(r.Ints("kernel_shape").size()) + 2,
              r.Copies({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}));
}

Status QLinearGlobalAveragePool(Rewrite& r) { return Pool(r, "GlobalAveragePool", std::nullopt, {}); }

// Scale and zero point of the result, then tensor, scale and zero point of each part.
Status QLinearConcat(Rewrite& r) {
  if (r.inputs() < 5 || r.inputs() % 3 != 2) {
    return Rewrite::Invalid("it has " + std::to_string(r.inputs()) +
                            " inputs: two and three for each tensor are needed");
  }
  std::vector<std::string> parts;
  for (int i = 2; i < r.inputs(); i += 3) {
    PT_ASSIGN(const std::string part, Dequantize(r, {i, i + 1, i + 2}));
    parts.push_back(part);
  }
  return FinishQuantized(r, r.Add("Concat", parts, r.Copies({"axis"})), 0, 1, 2);
}

Status QLinearWhere(Rewrite& r) {
  PT_ASSIGN(const std::string x, Dequantize(r, {1, 2, 3}));
  PT_ASSIGN(const std::string y, Dequantize(r, {4, 5, 6}));
  return FinishQuantized(r, r.Add("Where", {r.in(0), x, y}), 7, 8, 1);
}

// As ONNX has them, of types that it took later.
Status Quantisation(Rewrite& r, const std::string& op) {
  std::vector<std::string> inputs = {r.in(0), ScalarIfOne(r, 1)};
  if (r.has(2)) inputs.push_back(ScalarIfOne(r, 2));
  r.Finish(0, op, inputs, r.Copies({"axis", "block_size"}));
  return {};
}
Status QuantizeLinear(Rewrite& r) { return Quantisation(r, "QuantizeLinear"); }
Status DequantizeLinear(Rewrite& r) { return Quantisation(r, "DequantizeLinear"); }

// ---- types ----

void InferBinary(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  ShapeOfBroadcast(context, 0, 3);
}

// The dims of images are left open.
void InferPool(proto::InferenceContext& context) {
  LikeFirst(context);
  auto& type = *context.getOutputType(0)->mutable_tensor_type();
  if (!type.has_shape()) return;
  const A* last = context.getAttribute("channels_last");
  const int rank = type.shape().dim_size(), channels = last != nullptr && last->i() != 0 ? rank - 1 : 1;
  for (int i = 1; i < rank; ++i) {
    if (i != channels) type.mutable_shape()->mutable_dim(i)->Clear();
  }
}

void InferConcat(proto::InferenceContext& context) {
  CopyElementType(context, 0, 1);
  CopyShape(context, 0, 2);
  auto& type = *context.getOutputType(0)->mutable_tensor_type();
  if (!type.has_shape()) return;
  const A* axis = context.getAttribute("axis");
  const int rank = type.shape().dim_size();
  const int64_t at = axis == nullptr ? rank : axis->i() < 0 ? axis->i() + rank : axis->i();
  if (at >= 0 && at < rank) type.mutable_shape()->mutable_dim(static_cast<int>(at))->Clear();
}

void InferWhere(proto::InferenceContext& context) {
  CopyElementType(context, 0, 1);
  ShapeOfBroadcast(context, 1, 4);
}

void InferQuantize(proto::InferenceContext& context) {
  if (context.getNumInputs() > 2 && context.getInputType(2) != nullptr)
    CopyElementType(context, 0, 2);
  else
    SetElementType(context, 0, proto::TensorProto::UINT8);
  CopyShape(context, 0, 0);
}

void InferDequantize(proto::InferenceContext& context) {
  CopyElementType(context, 0, 1);
  CopyShape(context, 0, 0);
}

}  // namespace

std::vector<Row> QuantizedRows() {
  const std::vector<std::string_view> binary = {"A",       "A_scale",       "A_zero_point?", "B",
                                                "B_scale", "B_zero_point?", "C_scale",       "C_zero_point?"};
  const std::vector<std::string_view> unary = {"X", "X_scale", "X_zero_point?", "Y_scale", "Y_zero_point?"};
  const std::vector<AttributeRow> by_axis = {{"axis", A::INT}, {"block_size", A::INT}};
  return {
      {"DequantizeLinear", {"x", "x_scale", "x_zero_point?"}, {"y"}, by_axis, InferDequantize, DequantizeLinear},
      {"QLinearAdd", binary, {"C"}, {}, InferBinary, QLinearAdd},
      {"QLinearAveragePool",
       unary,
       {"Y"},
       {{"auto_pad", A::STRING},
        {"ceil_mode", A::INT},
        {"channels_last", A::INT},
        {"count_include_pad", A::INT},
        {"kernel_shape", A::INTS, true},
        {"pads", A::INTS},
        {"strides", A::INTS}},
       InferPool,
       QLinearAveragePool},
      {"QLinearConcat",
       {"Y_scale", "Y_zero_point", "inputs*"},
       {"Y"},
       {{"axis", A::INT, true}},
       InferConcat,
       QLinearConcat},
      {"QLinearGlobalAveragePool", unary, {"Y"}, {{"channels_last", A::INT}}, InferPool, QLinearGlobalAveragePool},
      {"QLinearLeakyRelu", unary, {"Y"}, {{"alpha", A::FLOAT}}, LikeFirst, QLinearLeakyRelu},
      {"QLinearMul", binary, {"C"}, {}, InferBinary, QLinearMul},
      {"QLinearSigmoid", unary, {"Y"}, {}, LikeFirst, QLinearSigmoid},
      {"QLinearSoftmax", unary, {"Y"}, {{"axis", A::INT}, {"opset", A::INT, true}}, LikeFirst, QLinearSoftmax},
      {"QLinearWhere",
       {"condition", "X", "x_scale", "x_zero_point", "Y", "y_scale", "y_zero_point", "z_scale", "z_zero_point"},
       {"Z"},
       {},
       InferWhere,
       QLinearWhere},
      {"QuantizeLinear", {"x", "y_scale", "y_zero_point?"}, {"y"}, by_axis, InferQuantize, QuantizeLinear},
  };
}

}  // namespace pt::contrib
