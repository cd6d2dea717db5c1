#include "lib/onnx/contrib/ml_parts.h"

#include <algorithm>
#include <numeric>

namespace pt::contrib {
namespace {

// Scores of about zero stay where they are, and are not counted in the sum of the others.
void FinishSoftmaxZero(Rewrite& r, int output, const std::string& scores, int32_t type) {
  constexpr float kAboutZero = 1e-7F;
  const Attributes keep = {IntAttribute("keepdims", 1)};
  const std::string axis = r.AddInts({1}), max = r.Add("ReduceMax", {scores, axis}, keep);
  const std::string counts = r.Add("Greater", {r.Add("Abs", {scores}), r.AddScalar(type, kAboutZero)});
  const std::string powers = r.Add("Exp", {r.Add("Sub", {scores, max})});
  const std::string counted = r.Add("Where", {counts, powers, r.AddZero(type)});
  const std::string sum = r.Add("ReduceSum", {counted, axis}, keep);
  const std::string rest = r.Add("Mul", {scores, r.Add("Exp", {r.Add("Neg", {max})})});
  r.Finish(output, "Div", {r.Add("Where", {counts, powers, rest}), sum});
}

// The square root of 2 times the inverse of the error function at 2p - 1, by Winitzki's approximation: ONNX's own
// implementation and ONNX Runtime have it, and their results are what models were checked with.
void FinishProbit(Rewrite& r, int output, const std::string& p, int32_t type) {
  constexpr float kA = 0.147F, kPi = 3.14159F, kSqrt2 = 1.41421356F;
  const auto number = [&](float value) { return r.AddScalar(type, value); };
  const std::string one = number(1);
  const std::string x = r.Add("Sub", {r.Add("Mul", {p, number(2)}), one});
  const std::string log = r.Add("Log", {r.Add("Mul", {r.Add("Sub", {one, x}), r.Add("Add", {one, x})})});
  const std::string v = r.Add("Add", {r.Add("Mul", {log, number(0.5F)}), number(2 / (kPi * kA))});
  const std::string square = r.Add("Sub", {r.Add("Mul", {v, v}), r.Add("Mul", {log, number(1 / kA)})});
  const std::string root = r.Add("Sqrt", {r.Add("Sub", {r.Add("Sqrt", {square}), v})});
  const std::string sign = r.Add("Where", {r.Add("Less", {x, r.AddZero(type)}), number(-kSqrt2), number(kSqrt2)});
  r.Finish(output, "Mul", {root, sign});
}

}  // namespace

Status Keep(Rewrite& r) {
  r.Keep();
  return {};
}

Result<std::string> AsFloat(Rewrite& r, const std::string& x) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(x, "its input"));
  if (type == proto::TensorProto::FLOAT) return x;
  return r.Add("Cast", {x}, {IntAttribute("to", proto::TensorProto::FLOAT)});
}

Result<std::string> RowsInFloat(Rewrite& r) {
  PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(0), "its input"));
  PT_ASSIGN(const std::string x, AsFloat(r, r.in(0)));
  if (rank == 2) return x;
  if (rank == 1) return r.Add("Unsqueeze", {x, r.AddInts({0})});
  return Rewrite::Invalid("its input has " + std::to_string(rank) +
                          " dims; [rows, features] or [features] is expected");
}

std::string AddFloats(Rewrite& r, std::vector<int64_t> dims, const std::vector<float>& values) {
  return r.AddTensor(Tensor::Float32(std::move(dims), values));
}

Result<std::string> TransformOf(const Rewrite& r) {
  std::string transform = r.Text("post_transform", "NONE");
  if (std::find(kTransforms.begin(), kTransforms.end(), transform) != kTransforms.end()) return transform;
  return Rewrite::Invalid("unknown post_transform \"" + transform +
                          "\"; expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT");
}

void FinishScores(Rewrite& r, int output, const std::string& scores, std::string_view transform, int32_t type) {
  if (transform == "SOFTMAX") {
    r.Finish(output, "Softmax", {scores}, {IntAttribute("axis", 1)});
  } else if (transform == "LOGISTIC") {
    r.Finish(output, "Sigmoid", {scores});
  } else if (transform == "SOFTMAX_ZERO") {
    FinishSoftmaxZero(r, output, scores, type);
  } else if (transform == "PROBIT") {
    FinishProbit(r, output, scores, type);
  } else {
    r.Finish(output, "Identity", {scores});
  }
}

Status NeedOneOf(std::string_view transform, std::initializer_list<std::string_view> transforms) {
  if (std::find(transforms.begin(), transforms.end(), transform) != transforms.end()) return {};
  return Rewrite::Unsupported("post_transform " + std::string(transform) +
                              " of a single score is not supported: ONNX Runtime leaves it out, ONNX does not");
}

Result<Labels> LabelsOf(const Rewrite& r, const std::string& texts, const std::string& ints) {
  Labels labels{r.Texts(texts), r.Ints(ints)};
  if (labels.texts.empty() == labels.ints.empty())
    return Rewrite::Invalid("exactly one of " + texts + " and " + ints + " is expected");
  return labels;
}

Status FinishLabels(Rewrite& r, const Labels& labels, const std::string& indices) {
  const auto count = static_cast<int64_t>(labels.count());
  if (!labels.texts.empty()) {
    PT_ASSIGN(const Tensor texts, Tensor::FromStrings({count}, labels.texts));
    r.Finish(0, "Gather", {r.AddTensor(texts), indices});
    return {};
  }
  std::vector<int64_t> counted(labels.ints.size());
  std::iota(counted.begin(), counted.end(), 0);
  if (counted == labels.ints) {
    r.Finish(0, "Identity", {indices});
  } else {
    r.Finish(0, "Gather", {r.AddInts(labels.ints), indices});
  }
  return {};
}

namespace {
InferenceDim RowsOf(const proto::InferenceContext& context) {
  const Shape* x = ShapeOf(context, 0);
  if (x != nullptr && x->dim_size() == 2) return x->dim(0);
  InferenceDim rows;
  if (x != nullptr && x->dim_size() == 1) rows.set_dim_value(1);
  return rows;
}
}  // namespace

void InferRows(proto::InferenceContext& context, size_t output) { SetShape(context, output, {RowsOf(context)}); }

void InferRows(proto::InferenceContext& context, size_t output, std::optional<int64_t> columns) {
  SetElementType(context, output, proto::TensorProto::FLOAT);
  InferenceDim last;
  if (columns && *columns > 0) last.set_dim_value(*columns);
  SetShape(context, output, {RowsOf(context), last});
}

int64_t CountOf(const proto::InferenceContext& context, const char* attribute) {
  const proto::AttributeProto* a = context.getAttribute(attribute);
  if (a == nullptr) return 0;
  return a->ints_size() + a->floats_size() + a->strings_size();
}

void InferLabels(proto::InferenceContext& context, const char* texts) {
  SetElementType(context, 0, CountOf(context, texts) > 0 ? proto::TensorProto::STRING : proto::TensorProto::INT64);
  InferRows(context, 0);
}

}  // namespace pt::contrib
