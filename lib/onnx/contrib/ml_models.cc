// Trees and support vector machines of ai.onnx.ml, which have kernels: texts for labels and transforms of scores are
// spelled out behind them, so that kernels make numbers alone.
#include <algorithm>
#include <numeric>

#include "lib/onnx/contrib/ml_parts.h"

namespace pt::contrib {
namespace {

// With integers for labels, and without a transform unless the kernel has it.
Status Classifier(Rewrite& r, const std::string& ints, const std::string& transform) {
  PT_ASSIGN(const Labels labels, LabelsOf(r, "classlabels_strings", ints));
  const bool texts = !labels.texts.empty(), transforms = transform != "NONE";
  Attributes changed;
  std::vector<int> renamed;
  if (texts) {
    std::vector<int64_t> indices(labels.texts.size());
    std::iota(indices.begin(), indices.end(), 0);
    changed.push_back(IntsAttribute(ints, indices));
    renamed.push_back(0);
  }
  if (transforms) {
    changed.push_back(TextAttribute("post_transform", "NONE"));
    renamed.push_back(1);
  }
  const std::vector<std::string> made = r.KeepWith(changed, texts ? "classlabels_strings" : "", renamed);
  if (transforms) FinishScores(r, 1, made[1], transform);
  return texts ? FinishLabels(r, labels, made[0]) : Status();
}

Status SvmClassifier(Rewrite& r) {
  PT_ASSIGN(const std::string transform, TransformOf(r));
  const size_t classes = r.Texts("classlabels_strings").size() + r.Ints("classlabels_ints").size();
  if (classes == 2 && r.Floats("prob_a").empty()) PT_CHECK_OK(NeedOneOf(transform, {"NONE"}));
  return Classifier(r, "classlabels_ints", transform);
}

Status TreeClassifier(Rewrite& r) {
  PT_ASSIGN(const std::string transform, TransformOf(r));
  const size_t classes = r.Texts("classlabels_strings").size() + r.Ints("classlabels_int64s").size();
  const std::vector<int64_t> ids = r.Ints("class_ids");
  if (classes == 2 && std::all_of(ids.begin(), ids.end(), [](int64_t id) { return id == 0; }))
    PT_CHECK_OK(NeedOneOf(transform, {"NONE", "LOGISTIC"}));
  return Classifier(r, "classlabels_int64s", transform == "LOGISTIC" ? "NONE" : transform);
}

Status TreeRegressor(Rewrite& r) {
  PT_ASSIGN(const std::string transform, TransformOf(r));
  if (r.Int("n_targets", 0) == 1) PT_CHECK_OK(NeedOneOf(transform, {"NONE", "PROBIT"}));
  if (transform == "NONE") return Keep(r);
  FinishScores(r, 0, r.KeepWith({TextAttribute("post_transform", "NONE")}, "", {0})[0], transform);
  return {};
}

Status TreeEnsemble(Rewrite& r) {
  const int64_t number = r.Int("post_transform", 0);
  if (number < 0 || number >= std::ssize(kTransforms))
    return Rewrite::Invalid("unknown post_transform " + std::to_string(number) + "; expected 0 to 4");
  const std::string_view transform = kTransforms[static_cast<size_t>(number)];
  if (number == 0) return Keep(r);
  if (r.Int("n_targets", 1) == 1) PT_CHECK_OK(NeedOneOf(transform, {"NONE", "PROBIT"}));
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "its input"));
  FinishScores(r, 0, r.KeepWith({IntAttribute("post_transform", 0)}, "", {0})[0], transform, type);
  return {};
}

void InferSvmClassifier(proto::InferenceContext& context) {
  InferLabels(context, "classlabels_strings");
  const int64_t classes = CountOf(context, "classlabels_strings") + CountOf(context, "classlabels_ints");
  const bool scores = CountOf(context, "prob_a") == 0 && CountOf(context, "support_vectors") > 0;
  InferRows(context, 1, scores && classes > 2 && classes < (1 << 16) ? classes * (classes - 1) / 2 : classes);
}

void InferSvmRegressor(proto::InferenceContext& context) { InferRows(context, 0, 1); }

void InferTreeClassifier(proto::InferenceContext& context) {
  InferLabels(context, "classlabels_strings");
  InferRows(context, 1, CountOf(context, "classlabels_strings") + CountOf(context, "classlabels_int64s"));
}

void InferTreeRegressor(proto::InferenceContext& context) {
  const proto::AttributeProto* targets = context.getAttribute("n_targets");
  InferRows(context, 0, targets == nullptr ? std::nullopt : std::optional(targets->i()));
}

void InferTreeEnsemble(proto::InferenceContext& context) {
  const proto::AttributeProto* targets = context.getAttribute("n_targets");
  InferRows(context, 0, targets == nullptr ? 1 : targets->i());
  CopyElementType(context, 0, 0);
}

}  // namespace

std::vector<Row> MlModelRows() {
  return {
      {"SVMClassifier", {"X"}, {"Y", "Z"}, {}, InferSvmClassifier, SvmClassifier, kMlDomain},
      {"SVMRegressor", {"X"}, {"Y"}, {}, InferSvmRegressor, Keep, kMlDomain},
      {"TreeEnsemble", {"X"}, {"Y"}, {}, InferTreeEnsemble, TreeEnsemble, kMlDomain},
      {"TreeEnsembleClassifier", {"X"}, {"Y", "Z"}, {}, InferTreeClassifier, TreeClassifier, kMlDomain},
      {"TreeEnsembleRegressor", {"X"}, {"Y"}, {}, InferTreeRegressor, TreeRegressor, kMlDomain},
  };
}

}  // namespace pt::contrib
