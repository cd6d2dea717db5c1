// TreeEnsembleRegressor and TreeEnsembleClassifier: against results that are worked out by hand, and by another walk.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "test/backend/domain_node.h"
#include "test/backend/node_results.h"

namespace pt::reference_trees_test {
namespace {

using testing::Attributes;
using testing::EvaluateOf;
using testing::Floats;
using testing::IsInvalid;
using Ints = std::vector<int64_t>;
using Reals = std::vector<float>;
using Texts = std::vector<std::string>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Tree 7: x[1] <= 2 ? (x[0] < 0 ? 1 : 2) : 4, whose nodes are listed in no order. Tree 3 is a leaf of 10 and, for the
// second target, 100.
Attributes Grown(const std::string& role = "target") {
  return {{"nodes_treeids", Ints{7, 7, 7, 7, 7, 3}},
          {"nodes_nodeids", Ints{4, 2, 9, 0, 1, 0}},
          {"nodes_featureids", Ints{0, 1, 0, 0, 0, 0}},
          {"nodes_modes", Texts{"LEAF", "BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"}},
          {"nodes_values", Reals{0, 2, 0, 0, 0, 0}},
          {"nodes_truenodeids", Ints{0, 9, 0, 0, 0, 0}},
          {"nodes_falsenodeids", Ints{0, 4, 1, 0, 0, 0}},
          {role + "_treeids", Ints{7, 7, 7, 3, 3}},
          {role + "_nodeids", Ints{4, 0, 1, 0, 0}},
          {role + "_ids", Ints{0, 0, 0, 0, 1}},
          {role + "_weights", Reals{4, 1, 2, 10, 100}}};
}

Result<std::vector<Tensor>> Regress(Attributes attributes, const Tensor& x) {
  attributes.emplace("n_targets", int64_t{2});
  return EvaluateOf("ai.onnx.ml", "TreeEnsembleRegressor", 3, attributes, {x});
}

const Tensor kRows = Tensor::Float32({4, 2}, {-1, 2, 0, 2, 0, 3, kNan, kNan});

TEST_CASE("ListedTrees, LeavesAddToTheirTargets", "[backend]") {
  CHECK(Floats(Regress(Grown(), kRows)) == Reals{11, 100, 12, 100, 14, 100, 14, 100});
  Attributes based = Grown();
  based["base_values"] = Reals{0.5F, -1};
  CHECK(Floats(Regress(based, kRows)) == Reals{11.5F, 99, 12.5F, 99, 14.5F, 99, 14.5F, 99});
  based["aggregate_function"] = std::string("AVERAGE");
  CHECK(Floats(Regress(based, kRows)) == Reals{6, 49, 6.5F, 49, 7.5F, 49, 7.5F, 49});
  based["aggregate_function"] = std::string("MIN");
  CHECK(Floats(Regress(based, kRows)) == Reals{1.5F, 99, 2.5F, 99, 4.5F, 99, 4.5F, 99});
  based["aggregate_function"] = std::string("MAX");
  CHECK(Floats(Regress(based, kRows)) == Reals{10.5F, 99, 10.5F, 99, 10.5F, 99, 10.5F, 99});
  const auto row = Regress(Grown(), Tensor::Float32({2}, {-1, 2}));
  CHECK(Floats(row) == Reals{11, 100});
  CHECK((*row)[0].dims() == Ints{1, 2});
  CHECK(Floats(Regress(Grown(), Tensor::Int64({1, 2}, {-1, 3}))) == Reals{14, 100});
  CHECK(Floats(Regress(Grown(), Tensor::Float32({0, 2}, {}))).empty());
}

TEST_CASE("ListedTrees, MissingValuesGoWhereTheirNodeSays", "[backend]") {
  Attributes attributes = Grown();
  attributes["nodes_missing_value_tracks_true"] = Ints{0, 1, 0, 0, 0, 0};
  CHECK(Floats(Regress(attributes, kRows)) == Reals{11, 100, 12, 100, 14, 100, 12, 100});
  attributes["nodes_missing_value_tracks_true"] = Ints{0, 1, 1, 0, 0, 0};
  CHECK(Floats(Regress(attributes, kRows)) == Reals{11, 100, 12, 100, 14, 100, 11, 100});
}

TEST_CASE("ListedTrees, TensorsKeepTheirPrecision", "[backend]") {
  Attributes attributes = Grown();
  attributes.erase("nodes_values");
  const std::vector<double> splits = {0, 2 + 1e-12, 0, 0, 0, 0};
  attributes["nodes_values_as_tensor"] = Tensor::Of<double>(DataType::kFloat64, {6}, splits);
  const std::vector<double> x = {0, 2 + 1e-12, 0, 2 + 2e-12};
  CHECK(Floats(Regress(attributes, Tensor::Of<double>(DataType::kFloat64, {2, 2}, x))) == Reals{12, 100, 14, 100});
  attributes["nodes_values"] = Reals{0, 2, 0, 0, 0, 0};
  CHECK(IsInvalid(Regress(attributes, kRows)));
  // Sums do not lose what float32 would.
  Attributes sums = Grown();
  sums["target_weights"] = Reals{4, 1, 0x1p30F, 1, 100};
  sums["base_values"] = Reals{-0x1p30F, 0};
  CHECK(Floats(Regress(sums, Tensor::Float32({1, 2}, {0, 2}))) == Reals{1, 100});
}

TEST_CASE("ListedTrees, AttributesThatAreNoTreesAreTypedErrors", "[backend]") {
  const auto with = [&](const char* name, const Attribute& value) {
    Attributes attributes = Grown();
    attributes[name] = value;
    return Regress(attributes, kRows);
  };
  const auto says = [&](const Result<std::vector<Tensor>>& results, const std::string& part) {
    INFO((results.ok() ? "" : results.error().message));
    REQUIRE(IsInvalid(results));
    CHECK(results.error().message.find(part) != std::string::npos);
  };
  says(with("nodes_nodeids", Ints{4, 2, 9, 0, 1}), "nodes_nodeids has 5 values and nodes_treeids 6");
  says(with("nodes_nodeids", Ints{4, 2, 9, 4, 1, 0}), "node 4 of tree 7 is listed twice");
  says(with("nodes_featureids", Ints{0, 2, 0, 0, 0, 0}), "node 2 of tree 7 reads feature 2 of 2");
  says(with("nodes_featureids", Ints{0, -1, 0, 0, 0, 0}), "reads feature -1 of 2");
  says(with("nodes_modes", Texts{"LEAF", "BRANCH_LE", "BRANCH_LT", "LEAF", "LEAF", "LEAF"}),
       "unknown mode \"BRANCH_LE\"");
  says(with("nodes_modes", Texts{}), "nodes_modes has 0 values");
  says(with("nodes_truenodeids", Ints{0, 5, 0, 0, 0, 0}), "node 2 of tree 7 leads to node 5");
  says(with("nodes_truenodeids", Ints{0, 9, 2, 0, 0, 0}), "no root leads to node 2 of tree 7");
  says(with("nodes_treeids", Ints{7, 7, 7, 7, 7, 7}), "node 0 of tree 7 is listed twice");
  says(with("nodes_falsenodeids", Ints{0, 4, 2, 0, 0, 0}), "no root leads to node 2 of tree 7");
  says(with("nodes_truenodeids", Ints{0, 9, 9, 0, 0, 0}), "no other node leads to");   // 0 is left
  says(with("nodes_falsenodeids", Ints{0, 9, 1, 0, 0, 0}), "no other node leads to");  // 4 is left
  says(with("nodes_missing_value_tracks_true", Ints{1}), "nodes_missing_value_tracks_true has 1 values");
  says(with("target_nodeids", Ints{4, 0, 8, 0, 0}), "node 8 of tree 7, which does not exist");
  says(with("target_ids", Ints{0, 0, 0, 0, 2}), "target 2 of 2");
  says(with("target_weights", Reals{4, 1, 2}), "target_weights has 3 values");
  says(with("base_values", Reals{1}), "base_values has 1 values for 2 targets");
  says(with("aggregate_function", std::string("MEDIAN")), "unknown aggregate_function");
  says(with("n_targets", int64_t{0}), "n_targets is 0");
  CHECK(with("post_transform", std::string("SOFTMAX")).error().code == ErrorCode::kUnsupported);
  // A node that two lead to.
  Attributes shared = Grown();
  shared["nodes_modes"] = Texts{"BRANCH_LT", "BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"};
  shared["nodes_truenodeids"] = Ints{9, 9, 0, 0, 0, 0};
  shared["nodes_falsenodeids"] = Ints{1, 4, 1, 0, 0, 0};
  says(Regress(shared, kRows), "node 9 of tree 7 is in more than one place");
}

Result<std::vector<Tensor>> Classify(Attributes attributes, const Attributes& more, const Tensor& x) {
  for (const auto& [name, value] : more) attributes[name] = value;
  return EvaluateOf("ai.onnx.ml", "TreeEnsembleClassifier", 1, attributes, {x}, 2);
}
Ints LabelsOf(const Result<std::vector<Tensor>>& results) {
  REQUIRE(results.ok());
  return (*results)[0].ToInts();
}

TEST_CASE("ListedTrees, TheTopClassIsTheFirstOfTheGreatest", "[backend]") {
  const Attributes three = {{"classlabels_int64s", Ints{5, 8, 6}}};
  const auto all = Classify(Grown("class"), three, kRows);
  CHECK(LabelsOf(all) == Ints{8, 8, 8, 8});
  CHECK(Floats(all, 1) == Reals{11, 100, 0, 12, 100, 0, 14, 100, 0, 14, 100, 0});
  Attributes based = three;
  based["base_values"] = Reals{88, 0, 100};
  CHECK(LabelsOf(Classify(Grown("class"), based, kRows)) == Ints{8, 5, 5, 5});  // 99 100 100, 100 100 100, 102 100 100
}

// Of two classes where all weights are the first one's, the score is the second one's, as ONNX Runtime 1.32 has it.
TEST_CASE("ListedTrees, OneScoreStandsForTwoClasses", "[backend]") {
  Attributes one = Grown("class");
  one["class_ids"] = Ints{0, 0, 0, 0, 0};
  one["class_weights"] = Reals{0.25F, 0.5F, 0, 0.125F, 0.125F};
  const Attributes two = {{"classlabels_int64s", Ints{5, 7}}};
  const auto positive = Classify(one, two, kRows);
  CHECK(LabelsOf(positive) == Ints{7, 5, 5, 5});
  CHECK(Floats(positive, 1) == Reals{0.25F, 0.75F, 0.75F, 0.25F, 0.5F, 0.5F, 0.5F, 0.5F});
  one["class_weights"] = Reals{0.25F, 0.5F, -1, 0.125F, 0.125F};
  const auto mixed = Classify(one, two, kRows);
  CHECK(LabelsOf(mixed) == Ints{7, 5, 7, 7});
  CHECK(Floats(mixed, 1) == Reals{-0.75F, 0.75F, 0.75F, -0.75F, -0.5F, 0.5F, -0.5F, 0.5F});
  Attributes logistic = two;
  logistic["post_transform"] = std::string("LOGISTIC");
  logistic["base_values"] = Reals{-0.75F};
  const auto odds = Classify(one, logistic, kRows);
  CHECK(LabelsOf(odds) == Ints{5, 5, 5, 5});
  CHECK(Floats(odds, 1)[0] == 0.5F);
  CHECK(Floats(odds, 1)[3] == static_cast<float>(1 / (1 + std::exp(1.5))));
  // What runtimes differ about.
  one["class_ids"] = Ints{1, 1, 1, 1, 1};
  CHECK(Classify(one, two, kRows).error().code == ErrorCode::kUnsupported);
  CHECK(Classify(one, {{"classlabels_int64s", Ints{5}}}, kRows).error().code == ErrorCode::kUnsupported);
}

// More rows and trees than are walked together, of one kind of nodes, of those that ask by order, and of all, against a
// walk by the attributes.
TEST_CASE("ListedTrees, ManyRowsAndTrees", "[backend]") {
  std::mt19937 random(5);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  constexpr int kTrees = 9, kDepth = 6, kFeatures = 5, kNodes = (1 << (kDepth + 1)) - 1, kCount = 150;
  for (const size_t kinds : {1, 4, 6}) {
    const bool plain = kinds == 1;
    Ints trees, ids, features, on_true, on_false, missing, leaf_trees, leaf_ids, targets;
    Texts modes;
    Reals splits, weights;
    const Texts all = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
    for (int t = 0; t < kTrees; ++t) {
      for (int n = 0; n < kNodes; ++n) {
        const bool leaf = 2 * n + 2 >= kNodes;
        trees.push_back(t);
        ids.push_back(n);
        features.push_back(below(kFeatures));
        modes.push_back(leaf ? "LEAF" : all[static_cast<size_t>(below(static_cast<int>(kinds)))]);
        splits.push_back(static_cast<float>(below(7) - 3));
        on_true.push_back(leaf ? 0 : 2 * n + 1);
        on_false.push_back(leaf ? 0 : 2 * n + 2);
        missing.push_back(plain ? 0 : below(2));
        if (!leaf) continue;
        leaf_trees.push_back(t);
        leaf_ids.push_back(n);
        targets.push_back(0);
        weights.push_back(static_cast<float>(below(1000)));
      }
    }
    Reals x;
    for (int i = 0; i < kCount * kFeatures; ++i) x.push_back(below(9) == 0 ? kNan : static_cast<float>(below(7) - 3));
    const auto walk = [&](int tree, const float* row) {
      size_t n = 0;
      while (2 * n + 2 < kNodes) {
        const size_t at = static_cast<size_t>(tree) * kNodes + n;
        const float v = row[features[at]], s = splits[at];
        const std::string& mode = modes[at];
        const bool holds = mode == "BRANCH_LEQ"   ? v <= s
                           : mode == "BRANCH_LT"  ? v < s
                           : mode == "BRANCH_GTE" ? v >= s
                           : mode == "BRANCH_GT"  ? v > s
                           : mode == "BRANCH_EQ"  ? v == s
                                                  : v != s;
        n = 2 * n + (holds || (std::isnan(v) && missing[at] != 0) ? 1 : 2);
      }
      return weights[static_cast<size_t>(tree) * ((kNodes + 1) / 2) + n - kNodes / 2];
    };
    Reals expected;
    for (int r = 0; r < kCount; ++r) {
      float sum = 0;
      for (int t = 0; t < kTrees; ++t) sum += walk(t, x.data() + r * kFeatures);
      expected.push_back(sum);
    }
    const Attributes attributes = {{"nodes_treeids", trees},         {"nodes_nodeids", ids},
                                   {"nodes_featureids", features},   {"nodes_modes", modes},
                                   {"nodes_values", splits},         {"nodes_truenodeids", on_true},
                                   {"nodes_falsenodeids", on_false}, {"nodes_missing_value_tracks_true", missing},
                                   {"target_treeids", leaf_trees},   {"target_nodeids", leaf_ids},
                                   {"target_ids", targets},          {"target_weights", weights},
                                   {"n_targets", int64_t{1}}};
    CHECK(Floats(Regress(attributes, Tensor::Float32({kCount, kFeatures}, x))) == expected);
  }
}

}  // namespace
}  // namespace pt::reference_trees_test
