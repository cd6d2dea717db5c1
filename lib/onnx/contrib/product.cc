// Products and convolutions with what ONNX Runtime fuses into them.
#include <algorithm>
#include <numeric>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

// What comes behind a fused operator, with its parameters: as ONNX Runtime's own kernels take it.
Status FinishActivation(Rewrite& r, const std::string& x, const std::string& name, const std::vector<float>& parameters,
                        size_t expected) {
  if (parameters.size() != expected) {
    return Rewrite::Invalid("activation " + name + " needs " + std::to_string(expected) + " parameters, not " +
                            std::to_string(parameters.size()));
  }
  if (name == "Clip") {
    PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "its first input"));
    r.Finish(0, "Clip", {x, r.AddScalar(type, parameters[0]), r.AddScalar(type, parameters[1])});
    return {};
  }
  Attributes attributes;
  if (expected > 0) attributes.push_back(FloatAttribute("alpha", parameters[0]));
  if (expected > 1) attributes.push_back(FloatAttribute("beta", parameters[1]));
  r.Finish(0, name, {x}, attributes);
  return {};
}

struct ActivationRow {
  std::string_view name;
  size_t parameters;
};

// Those of FusedConv. All parameters are given.
constexpr ActivationRow kConvActivations[] = {{"Relu", 0},      {"Tanh", 0}, {"Sigmoid", 0},
                                              {"LeakyRelu", 1}, {"Clip", 2}, {"HardSigmoid", 2}};

Status FusedConv(Rewrite& r) {
  std::vector<std::string> inputs = {r.in(0), r.in(1)};
  if (r.has(2)) inputs.push_back(r.in(2));
  const Attributes attributes = r.Copies({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  const std::string name = r.Text("activation", "");
  const bool sum = r.has(3);
  if (name.empty() && !sum) {
    r.Finish(0, "Conv", inputs, attributes);
    return {};
  }
  if (name.empty()) {
    r.Finish(0, "Add", {r.Add("Conv", inputs, attributes), r.in(3)});
    return {};
  }
  for (const ActivationRow& row : kConvActivations) {
    if (row.name != name) continue;
    std::string y = r.Add("Conv", inputs, attributes);
    if (sum) y = r.Add("Add", {y, r.in(3)});
    return FinishActivation(r, y, name, r.Floats("activation_params"), row.parameters);
  }
  return Rewrite::Unsupported("activation \"" + name +
                              "\" is not supported: Relu, Tanh, Sigmoid, LeakyRelu, Clip and HardSigmoid are");
}

// Those of FusedGemm; a parameter that is left out has ONNX's default.
constexpr ActivationRow kGemmActivations[] = {{"Elu", 1},      {"HardSigmoid", 2}, {"LeakyRelu", 1},
                                              {"Relu", 0},     {"Sigmoid", 0},     {"Softplus", 0},
                                              {"Softsign", 0}, {"Tanh", 0},        {"ThresholdedRelu", 1}};

Status FusedGemm(Rewrite& r) {
  std::vector<std::string> inputs = {r.in(0), r.in(1)};
  if (r.has(2)) inputs.push_back(r.in(2));
  const Attributes attributes = r.Copies({"alpha", "beta", "transA", "transB"});
  const std::string name = r.Text("activation", "");
  if (name.empty()) {
    r.Finish(0, "Gemm", inputs, attributes);
    return {};
  }
  for (const ActivationRow& row : kGemmActivations) {
    if (row.name != name) continue;
    Attributes parameters;
    for (A attribute : r.Copies({"activation_alpha", "activation_beta"})) {
      attribute.set_name(attribute.name() == "activation_alpha" ? "alpha" : "beta");
      if (parameters.size() < row.parameters) parameters.push_back(attribute);
    }
    r.Finish(0, name, {r.Add("Gemm", inputs, attributes)}, parameters);
    return {};
  }
  return Rewrite::Unsupported("activation \"" + name +
                              "\" is not supported: Elu, HardSigmoid, LeakyRelu, Relu, Sigmoid, Softplus, Softsign, "
                              "Tanh and ThresholdedRelu are");
}

// `batch`: the first dim is a row or column, and the batch lies between it and the last. `swap`: the last two dims are
// exchanged, behind that.
Result<std::string> Turned(Rewrite& r, const std::string& x, const std::string& what, bool swap, bool batch) {
  if (!swap && !batch) return x;
  PT_ASSIGN(const int64_t rank, r.NeedRank(x, what));
  if (rank < 2) return x;
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (batch) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (swap) std::swap(order[order.size() - 2], order[order.size() - 1]);
  return r.Add("Transpose", {x}, {IntsAttribute("perm", order)});
}

// As ONNX Runtime has it: only of operands with a batch, and as many dims.
Status CheckBatch(const Rewrite& r) {
  if (r.Int("transBatchA", 0) == 0 && r.Int("transBatchB", 0) == 0) return {};
  PT_ASSIGN(const int64_t a, r.NeedRank(r.in(0), "A"));
  PT_ASSIGN(const int64_t b, r.NeedRank(r.in(1), "B"));
  if (a == b && a >= 3) return {};
  return Rewrite::Invalid("with transBatchA or transBatchB, A and B need as many dims, three at least; they have " +
                          std::to_string(a) + " and " + std::to_string(b));
}

Status FusedMatMul(Rewrite& r) {
  PT_CHECK_OK(CheckBatch(r));
  PT_ASSIGN(const std::string a, Turned(r, r.in(0), "A", r.Int("transA", 0) != 0, r.Int("transBatchA", 0) != 0));
  PT_ASSIGN(const std::string b, Turned(r, r.in(1), "B", r.Int("transB", 0) != 0, r.Int("transBatchB", 0) != 0));
  const float alpha = r.Float("alpha", 1);
  if (alpha == 1) {
    r.Finish(0, "MatMul", {a, b});
    return {};
  }
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "A"));
  r.Finish(0, "Mul", {r.Add("MatMul", {a, b}), r.AddScalar(type, alpha)});
  return {};
}

void InferConv(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  const Shape* x = ShapeOf(context, 0);
  if (x == nullptr || x->dim_size() < 2) return;
  // Of the dims of images only their number.
  CopyShape(context, 0, 0);
  Shape& y = *context.getOutputType(0)->mutable_tensor_type()->mutable_shape();
  *y.mutable_dim(1) = DimOf(context, 1, 0);
  for (int i = 2; i < y.dim_size(); ++i) y.mutable_dim(i)->Clear();
}

void InferGemm(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  SetShape(context, 0, {{}, {}});
}

void InferFusedMatMul(proto::InferenceContext& context) {
  CopyElementType(context, 0, 0);
  bool turned = false;
  for (const char* name : {"transA", "transB", "transBatchA", "transBatchB"}) {
    const A* attribute = context.getAttribute(name);
    turned = turned || (attribute != nullptr && attribute->i() != 0);
  }
  ShapeOfProduct(context, 0, 1);
  auto& type = *context.getOutputType(0)->mutable_tensor_type();
  if (!turned || !type.has_shape()) return;
  for (auto& dim : *type.mutable_shape()->mutable_dim()) dim.Clear();  // only their number is certain
}

}  // namespace

std::vector<Row> ProductRows() {
  return {
      {"FusedConv",
       {"X", "W", "B?", "Z?"},
       {"Y"},
       {{"activation", A::STRING},
        {"activation_params", A::FLOATS},
        {"auto_pad", A::STRING},
        {"dilations", A::INTS},
        {"group", A::INT},
        {"kernel_shape", A::INTS},
        {"pads", A::INTS},
        {"strides", A::INTS}},
       InferConv,
       FusedConv},
      {"FusedGemm",
       {"A", "B", "C?"},
       {"Y"},
       {{"activation", A::STRING},
        {"activation_alpha", A::FLOAT},
        {"activation_beta", A::FLOAT},
        {"activation_gamma", A::FLOAT},
        {"alpha", A::FLOAT},
        {"beta", A::FLOAT},
        {"transA", A::INT},
        {"transB", A::INT}},
       InferGemm,
       FusedGemm},
      {"FusedMatMul",
       {"A", "B"},
       {"Y"},
       {{"alpha", A::FLOAT}, {"transA", A::INT}, {"transB", A::INT}, {"transBatchA", A::INT}, {"transBatchB", A::INT}},
       InferFusedMatMul,
       FusedMatMul},
      {"TransposeMatMul",
       {"A", "B"},
       {"Y"},
       {{"alpha", A::FLOAT}, {"transA", A::INT}, {"transB", A::INT}},
       InferFusedMatMul,
       FusedMatMul},
  };
}

}  // namespace pt::contrib
