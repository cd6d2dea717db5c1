// Linear models of ai.onnx.ml: a Gemm, and what makes labels and probabilities of its scores.
#include "lib/onnx/contrib/ml_parts.h"

namespace pt::contrib {
namespace {

// x · coefficientsᵀ + intercepts, of `rows` rows of coefficients.
Result<std::string> Scores(Rewrite& r, int64_t rows) {
  const std::vector<float> coefficients = r.Floats("coefficients"), intercepts = r.Floats("intercepts");
  const int64_t count = std::ssize(coefficients), features = count / rows;
  const auto wanted = r.dim(r.in(0), -1);
  if (count == 0 || count % rows != 0 || (wanted && *wanted != features)) {
    return Rewrite::Invalid("it has " + std::to_string(count) + " coefficients for " + std::to_string(rows) +
                            (rows == 1 ? " row" : " rows") +
                            (wanted ? " of " + std::to_string(*wanted) + " features" : ""));
  }
  if (!intercepts.empty() && std::ssize(intercepts) != rows) {
    return Rewrite::Invalid("it has " + std::to_string(intercepts.size()) + " intercepts for " + std::to_string(rows) +
                            (rows == 1 ? " row" : " rows") + " of coefficients");
  }
  PT_ASSIGN(const std::string x, RowsInFloat(r));
  std::vector<std::string> inputs = {x, AddFloats(r, {rows, features}, coefficients)};
  if (!intercepts.empty()) inputs.push_back(AddFloats(r, {rows}, intercepts));
  return r.Add("Gemm", inputs, {IntAttribute("transB", 1)});
}

Status LinearRegressor(Rewrite& r) {
  const int64_t targets = r.Int("targets", 1);
  if (targets < 1) return Rewrite::Invalid("targets is " + std::to_string(targets));
  PT_ASSIGN(const std::string transform, TransformOf(r));
  if (targets == 1) PT_CHECK_OK(NeedOneOf(transform, {"NONE", "PROBIT"}));
  PT_ASSIGN(const std::string scores, Scores(r, targets));
  FinishScores(r, 0, scores, transform);
  return {};
}

// How many rows of coefficients there are: one for each class, or one for two classes.
Result<int64_t> RowsOfCoefficients(const Rewrite& r, int64_t classes) {
  const int64_t intercepts = std::ssize(r.Floats("intercepts"));
  int64_t rows = intercepts > 0 ? intercepts : classes;
  if (intercepts == 0 && classes == 2) {
    const auto features = r.dim(r.in(0), -1);
    if (!features)
      return Rewrite::Unsupported("it has no intercepts, and how many features its input has is not known");
    if (std::ssize(r.Floats("coefficients")) == *features) rows = 1;
  }
  if (rows == classes ? classes >= 2 : rows == 1 && classes == 2) return rows;
  return Rewrite::Invalid("it has " + std::to_string(classes) + (classes == 1 ? " label" : " labels") + " and " +
                          std::to_string(rows) + (rows == 1 ? " intercept" : " intercepts"));
}

Status LinearClassifier(Rewrite& r) {
  PT_ASSIGN(const Labels labels, LabelsOf(r, "classlabels_strings", "classlabels_ints"));
  PT_ASSIGN(const int64_t rows, RowsOfCoefficients(r, static_cast<int64_t>(labels.count())));
  PT_ASSIGN(const std::string transform, TransformOf(r));
  if (rows == 1) PT_CHECK_OK(NeedOneOf(transform, {"NONE", "LOGISTIC"}));
  PT_ASSIGN(std::string scores, Scores(r, rows));
  std::string index;
  if (rows > 1) {
    index = r.Add("ArgMax", {scores}, {IntAttribute("axis", 1), IntAttribute("keepdims", 0)});
  } else {
    const std::string positive = r.Add("Greater", {scores, r.AddZero(kFloat)});
    index = r.Add("Cast", {positive}, {IntAttribute("to", proto::TensorProto::INT64)});
    index = r.Add("Squeeze", {index, r.AddInts({1})});
    // The other class' score, which ONNX's text leaves open.
    const std::string other =
        transform == "NONE" ? r.Add("Sub", {r.AddScalar(kFloat, 1), scores}) : r.Add("Neg", {scores});
    scores = r.Add("Concat", {other, scores}, {IntAttribute("axis", 1)});
  }
  PT_CHECK_OK(FinishLabels(r, labels, index));
  FinishScores(r, 1, scores, transform);
  return {};
}

void InferRegressor(proto::InferenceContext& context) {
  const proto::AttributeProto* targets = context.getAttribute("targets");
  InferRows(context, 0, targets == nullptr ? 1 : targets->i());
}

void InferClassifier(proto::InferenceContext& context) {
  InferLabels(context, "classlabels_strings");
  InferRows(context, 1, CountOf(context, "classlabels_strings") + CountOf(context, "classlabels_ints"));
}

}  // namespace

std::vector<Row> MlLinearRows() {
  return {
      {"LinearClassifier", {"X"}, {"Y", "Z"}, {}, InferClassifier, LinearClassifier, kMlDomain},
      {"LinearRegressor", {"X"}, {"Y"}, {}, InferRegressor, LinearRegressor, kMlDomain},
  };
}

}  // namespace pt::contrib
