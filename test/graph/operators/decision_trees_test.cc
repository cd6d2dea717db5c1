#include "partitiontuner/graph/operators/decision_trees.h"

#include <array>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/operators/classifiers.h"
#include "test/graph/operators/made_node.h"

namespace pt::decision_trees_test {
namespace {

using testing::Attributes;
using testing::Made;

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Reals = std::vector<double>;
using Texts = std::vector<std::string>;

Tensor Doubles(const Reals& values) { return Tensor::Of<double>(DataType::kFloat64, {std::ssize(values)}, values); }
Tensor Bytes(const std::vector<uint8_t>& values) {
  return Tensor::Of<uint8_t>(DataType::kUint8, {std::ssize(values)}, values);
}

// Feature 3 above 0.1, and two leaves.
Attributes OneInnerNode() {
  return {{"nodes_featureids", Ints{3}},     {"nodes_truenodeids", Ints{0}}, {"nodes_falsenodeids", Ints{1}},
          {"nodes_trueleafs", Ints{1}},      {"nodes_falseleafs", Ints{1}},  {"nodes_splits", Doubles({0.1})},
          {"nodes_modes", Bytes({3})},       {"tree_roots", Ints{0}},        {"leaf_targetids", Ints{0, 1}},
          {"leaf_weights", Doubles({1, 2})}, {"n_targets", int64_t{2}}};
}

TEST_CASE("ReadTreeEnsemble, DefaultsAndEachAttribute", "[graph]") {
  const TreeEnsembleNode plain = *ReadTreeEnsemble(Made("TreeEnsemble", OneInnerNode()));
  CHECK(plain.aggregate == TreeAggregate::kSum);
  CHECK_FALSE(plain.has_post_transform);
  CHECK(plain.targets == 2);
  CHECK(plain.features == Ints{3});
  CHECK(plain.branches == std::vector<TreeBranch>{TreeBranch::kGreater});
  CHECK(plain.splits == Reals{0.1});
  CHECK(plain.members.empty());
  CHECK(plain.leaf_weights == Reals{1, 2});
  Attributes more = OneInnerNode();
  more["aggregate_function"] = int64_t{3};
  more["post_transform"] = int64_t{1};
  more["nodes_missing_value_tracks_true"] = Ints{1};
  more["membership_values"] = Tensor::Float32({2}, {0.5F, 4});
  const TreeEnsembleNode all = *ReadTreeEnsemble(Made("TreeEnsemble", more));
  CHECK(all.aggregate == TreeAggregate::kMax);
  CHECK(all.has_post_transform);
  CHECK(all.missing_is_true == Ints{1});
  CHECK(all.members == Reals{0.5, 4});
}

TEST_CASE("ReadTreeEnsemble, RefusesListsThatDoNotFitEachOther", "[graph]") {
  const auto takes = [](const char* name, const Attribute& value) {
    Attributes attributes = OneInnerNode();
    attributes[name] = value;
    return ReadTreeEnsemble(Made("TreeEnsemble", attributes)).ok();
  };
  for (const char* name : {"nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs",
                           "nodes_falseleafs", "nodes_missing_value_tracks_true", "leaf_targetids"}) {
    INFO(name);
    CHECK_FALSE(takes(name, Ints{0, 0, 0}));
  }
  CHECK_FALSE(takes("nodes_splits", Bytes({1})));
  CHECK_FALSE(takes("nodes_splits", Doubles({1, 2})));
  CHECK_FALSE(takes("nodes_modes", Doubles({1})));
  CHECK_FALSE(takes("nodes_modes", Bytes({7})));
  CHECK_FALSE(takes("aggregate_function", int64_t{4}));
  CHECK_FALSE(takes("aggregate_function", int64_t{-1}));
  CHECK_FALSE(takes("n_targets", int64_t{0}));
}

TEST_CASE("ReadListedTrees, TakesNumbersFromAListOrATensor", "[graph]") {
  Attributes attributes = {{"nodes_treeids", Ints{0}},
                           {"nodes_nodeids", Ints{5}},
                           {"nodes_featureids", Ints{0}},
                           {"nodes_truenodeids", Ints{0}},
                           {"nodes_falsenodeids", Ints{0}},
                           {"nodes_modes", Texts{"LEAF"}},
                           {"nodes_values", Floats{0.5F}},
                           {"class_treeids", Ints{0}},
                           {"class_nodeids", Ints{5}},
                           {"class_ids", Ints{1}},
                           {"class_weights_as_tensor", Doubles({0.1})},
                           {"base_values", Floats{2}}};
  const ListedTreesNode read = *ReadListedTrees(Made("TreeEnsembleClassifier", attributes));
  CHECK(read.branches == std::vector<TreeBranch>{TreeBranch::kLeaf});
  CHECK(read.splits == Reals{0.5});
  CHECK(read.weights == Reals{0.1});
  CHECK(read.weight_nodes == Ints{5});
  CHECK(read.base == Reals{2});
  // A regressor's weights have other names.
  CHECK(ReadListedTrees(Made("TreeEnsembleRegressor", attributes))->weights.empty());
  attributes["class_weights"] = Floats{1};
  CHECK_FALSE(ReadListedTrees(Made("TreeEnsembleClassifier", attributes)).ok());  // both
}

TEST_CASE("ReadTreeRegressor, NamesTheAggregate", "[graph]") {
  const auto read = [](const char* name) {
    return ReadTreeRegressor(
        Made("TreeEnsembleRegressor", {{"n_targets", int64_t{3}}, {"aggregate_function", std::string(name)}}));
  };
  CHECK(read("AVERAGE")->aggregate == TreeAggregate::kAverage);
  CHECK(read("MIN")->aggregate == TreeAggregate::kMin);
  CHECK(read("MAX")->aggregate == TreeAggregate::kMax);
  CHECK(read("SUM")->targets == 3);
  CHECK(read("MEAN").error().message == "unknown aggregate_function \"MEAN\"; expected SUM, AVERAGE, MIN or MAX");
  CHECK_FALSE(ReadTreeRegressor(Made("TreeEnsembleRegressor", {})).ok());
}

TEST_CASE("ReadSvm, DefaultsAndEachAttribute", "[graph]") {
  const SvmNode plain = *ReadSvm(Made("SVMRegressor", {}));
  CHECK(plain.kernel == SvmKernel::kLinear);
  CHECK(plain.supports == 0);
  CHECK_FALSE(plain.one_class);
  CHECK(plain.labels.empty());
  const Attributes attributes = {{"kernel_type", std::string("POLY")},
                                 {"kernel_params", Floats{0.5F, 2, 3}},
                                 {"support_vectors", Floats{1, 2}},
                                 {"coefficients", Floats{3}},
                                 {"rho", Floats{4}},
                                 {"n_supports", int64_t{2}},
                                 {"one_class", int64_t{1}},
                                 {"classlabels_ints", Ints{7, 8}},
                                 {"vectors_per_class", Ints{1, 1}},
                                 {"prob_a", Floats{5}},
                                 {"prob_b", Floats{6}}};
  const SvmNode all = *ReadSvm(Made("SVMClassifier", attributes));
  CHECK(all.kernel == SvmKernel::kPoly);
  CHECK(std::array{all.gamma, all.coef0, all.degree} == std::array{0.5F, 2.0F, 3.0F});
  CHECK(all.support_vectors == Floats{1, 2});
  CHECK(all.supports == 2);
  CHECK(all.one_class);
  CHECK(all.labels == Ints{7, 8});
  CHECK(all.prob_b == Floats{6});
}

TEST_CASE("ReadSvm, RefusesUnknownKernelsAndParametersThatAreMissing", "[graph]") {
  CHECK_FALSE(ReadSvm(Made("SVMRegressor", {{"kernel_type", std::string("CUBIC")}})).ok());
  CHECK_FALSE(ReadSvm(Made("SVMRegressor", {{"kernel_type", std::string("RBF")}})).ok());
  CHECK_FALSE(
      ReadSvm(Made("SVMRegressor", {{"kernel_type", std::string("RBF")}, {"kernel_params", Floats{1, 2}}})).ok());
  CHECK_FALSE(ReadSvm(Made("SVMRegressor", {{"n_supports", int64_t{-1}}})).ok());
}

}  // namespace
}  // namespace pt::decision_trees_test
