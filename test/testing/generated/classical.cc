// Models of ai.onnx.ml that have kernels: features, trees and support vectors. Where a step decides, they read
// inputs, whose numbers are the same in all libraries.
#include <numeric>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

std::string Name(std::string_view op) { return std::string(kClassicalDomain) + "." + std::string(op); }

void DrawExtractor(Drawing& d) {
  const DrawnOperand x = d.Float(1, 3);
  if (x == nullptr || x->dims.back() < 1) return;
  Dims columns;
  for (int64_t i = d.Between(1, 4); i > 0; --i) columns.push_back(d.Between(0, x->dims.back() - 1));
  d.Node(Name("ArrayFeatureExtractor"), {x, d.List(columns)});
}

void DrawBinarizer(Drawing& d) {
  Attributes attributes;
  if (d.Chance(0.7)) attributes.Float("threshold", d.Real(-1, 1));
  d.Node(Name("Binarizer"), {d.Input(kFloat, d.AnyDims(1, 4))}, attributes);
}

DrawnOperand Whole(Drawing& d, int64_t below) {
  Dims values;
  for (int64_t i = d.Between(1, 7); i > 0; --i) values.push_back(d.Between(0, below - 1));
  return d.List(values);
}

void DrawOneHotEncoder(Drawing& d) {
  const int64_t categories = d.Between(1, 5);
  Dims all(static_cast<size_t>(categories));
  std::iota(all.begin(), all.end(), 0);
  Attributes attributes;
  attributes.Ints("cats_int64s", all);
  if (d.Chance(0.5)) attributes.Int("zeros", 1);
  d.Node(Name("OneHotEncoder"), {Whole(d, categories)}, attributes);
}

// Trees whose inner nodes have two leaves or further nodes below them, in the order of a walk.
struct Trees {
  Dims tree, node, feature, yes, no, leaf_tree, leaf_node, leaf_id;
  std::vector<double> value, weight;
  std::vector<std::string> mode;
};

int64_t Grow(Drawing& d, Trees& t, int64_t tree, int64_t features, int64_t targets, int64_t depth, int64_t& next) {
  const int64_t here = next++;
  const size_t at = t.node.size();
  const bool leaf = depth == 0 || d.Chance(0.2);
  t.tree.push_back(tree);
  t.node.push_back(here);
  t.feature.push_back(leaf ? 0 : d.Between(0, features - 1));
  t.value.push_back(leaf ? 0 : d.Real(-1, 1));
  t.mode.push_back(leaf ? "LEAF" : d.OneOf({"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"}));
  t.yes.push_back(0);
  t.no.push_back(0);
  if (leaf) {
    t.leaf_tree.push_back(tree);
    t.leaf_node.push_back(here);
    t.leaf_id.push_back(d.Between(0, targets - 1));
    t.weight.push_back(d.Real(-1, 1));
  } else {
    const int64_t yes = Grow(d, t, tree, features, targets, depth - 1, next);
    const int64_t no = Grow(d, t, tree, features, targets, depth - 1, next);
    t.yes[at] = yes;
    t.no[at] = no;
  }
  return here;
}

void DrawTrees(Drawing& d, bool classes) {
  const int64_t features = d.Between(1, 6), targets = d.Between(classes ? 3 : 1, 4);
  Trees t;
  for (int64_t tree = 0, trees = d.Between(1, 4); tree < trees; ++tree) {
    int64_t next = 0;
    Grow(d, t, tree, features, targets, d.Between(0, 4), next);
  }
  const std::string leaf = classes ? "class_" : "target_";
  Attributes attributes;
  attributes.Ints("nodes_treeids", t.tree).Ints("nodes_nodeids", t.node).Ints("nodes_featureids", t.feature);
  attributes.Floats("nodes_values", t.value).Texts("nodes_modes", t.mode);
  attributes.Ints("nodes_truenodeids", t.yes).Ints("nodes_falsenodeids", t.no);
  attributes.Ints(leaf + "treeids", t.leaf_tree).Ints(leaf + "nodeids", t.leaf_node).Ints(leaf + "ids", t.leaf_id);
  attributes.Floats(leaf + "weights", t.weight);
  const DrawnOperand x = d.Input(kFloat, {d.Between(1, 20), features});
  if (!classes) {
    attributes.Int("n_targets", targets);
    if (d.Chance(0.5)) attributes.Text("aggregate_function", d.OneOf({"SUM", "AVERAGE", "MIN", "MAX"}));
    d.Node(Name("TreeEnsembleRegressor"), {x}, attributes);
    return;
  }
  Dims labels(static_cast<size_t>(targets));
  std::iota(labels.begin(), labels.end(), 5);
  attributes.Ints("classlabels_int64s", labels);
  d.Node(Name("TreeEnsembleClassifier"), {x}, attributes, {true, true});
}

void DrawSvm(Drawing& d) {
  const int64_t features = d.Between(1, 6), vectors = d.Between(1, 5);
  const auto reals = [&](int64_t count) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(d.Real(-1, 1));
    return values;
  };
  Attributes attributes;
  attributes.Floats("coefficients", reals(vectors)).Floats("support_vectors", reals(vectors * features));
  attributes.Int("n_supports", vectors).Floats("rho", reals(1));
  attributes.Text("kernel_type", d.OneOf({"LINEAR", "POLY", "RBF", "SIGMOID"}));
  attributes.Floats("kernel_params", {d.Real(0.1, 1), d.Real(-1, 1), static_cast<double>(d.Between(1, 3))});
  d.Node(Name("SVMRegressor"), {d.Input(kFloat, {d.Between(1, 12), features})}, attributes);
}

}  // namespace

DrawnFamily ClassicalFamily() {
  return {"classical",
          {{"ArrayFeatureExtractor", DrawExtractor},
           {"Binarizer", DrawBinarizer},
           {"OneHotEncoder", DrawOneHotEncoder},
           {"TreeEnsembleRegressor", [](Drawing& d) { DrawTrees(d, false); }},
           {"TreeEnsembleClassifier", [](Drawing& d) { DrawTrees(d, true); }},
           {"SVMRegressor", DrawSvm}},
          1};
}

}  // namespace pt::testing
