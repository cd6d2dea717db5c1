// Operators of classical learning and training: trees, n-grams, features, optimisers, statistics of a batch.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "partitiontuner/graph/half.h"
#include "test/backend/domain_node.h"
#include "test/backend/node_results.h"

namespace pt::reference_learning_test {
namespace {

using testing::Evaluate;
using testing::Floats;
using testing::IsInvalid;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using testing::Attributes;
using testing::EvaluateOf;

Tensor Bytes(const std::vector<uint8_t>& values) {
  return Tensor::Of<uint8_t>(DataType::kUint8, {static_cast<int64_t>(values.size())}, values);
}

// x[0] <= 1 ? (x[1] in {2, 3} ? 10 : 20) : 30, to targets 0, 1 and 0; and a tree that is a leaf.
Attributes TwoTrees() {
  return {{"nodes_splits", Tensor::Float32({3}, {1, 0, 0})},
          {"nodes_featureids", std::vector<int64_t>{0, 1, 0}},
          {"nodes_modes", Bytes({0, 6, 0})},
          {"nodes_truenodeids", std::vector<int64_t>{1, 0, 3}},
          {"nodes_falsenodeids", std::vector<int64_t>{2, 1, 3}},
          {"nodes_trueleafs", std::vector<int64_t>{0, 1, 1}},
          {"nodes_falseleafs", std::vector<int64_t>{1, 1, 1}},
          {"nodes_missing_value_tracks_true", std::vector<int64_t>{1, 0, 0}},
          {"leaf_weights", Tensor::Float32({4}, {10, 20, 30, 1})},
          {"leaf_targetids", std::vector<int64_t>{0, 1, 0, 1}},
          {"membership_values", Tensor::Float32({3}, {2, 3, kNan})},
          {"tree_roots", std::vector<int64_t>{0, 2}},
          {"n_targets", int64_t{2}}};
}

Result<std::vector<Tensor>> Grow(const Attributes& attributes, const Tensor& x) {
  return EvaluateOf("ai.onnx.ml", "TreeEnsemble", 5, attributes, {x});
}

TEST_CASE("TreeEnsemble, WalksBranchesMembersAndMissingValues", "[backend]") {
  const Tensor x = Tensor::Float32({4, 2}, {0, 3, 0, 4, 2, 3, kNan, kNan});
  CHECK(Floats(Grow(TwoTrees(), x)) == std::vector<float>{10, 1, 0, 21, 30, 1, 0, 21});
  Attributes average = TwoTrees();
  average["aggregate_function"] = int64_t{0};
  CHECK(Floats(Grow(average, x)) == std::vector<float>{5, 0.5F, 0, 10.5F, 15, 0.5F, 0, 10.5F});
  CHECK(Floats(Grow(TwoTrees(), Tensor::Float32({0, 2}, {}))).empty());
  std::vector<Half> halves;
  for (const float value : x.values<float>()) halves.push_back(ToHalf(value));
  const auto narrow = Grow(TwoTrees(), Tensor::Of<Half>(DataType::kFloat16, {4, 2}, halves));
  REQUIRE(narrow.ok());
  REQUIRE((*narrow)[0].type() == DataType::kFloat16);
  std::vector<float> widened;
  for (const Half value : (*narrow)[0].values<Half>()) widened.push_back(ToFloat(value));
  CHECK(widened == std::vector<float>{10, 1, 0, 21, 30, 1, 0, 21});
}

TEST_CASE("TreeEnsemble, AttributesThatAreNoTreesAreTypedErrors", "[backend]") {
  const Tensor x = Tensor::Float32({1, 2}, {0, 3});
  const auto with = [&](const char* name, const Attribute& value) {
    Attributes attributes = TwoTrees();
    attributes[name] = value;
    return Grow(attributes, x);
  };
  using Ints = std::vector<int64_t>;
  CHECK(IsInvalid(with("nodes_featureids", Ints{0, 2, 0})));
  CHECK(IsInvalid(with("nodes_featureids", Ints{0, -1, 0})));
  CHECK(IsInvalid(with("nodes_featureids", Ints{0})));
  CHECK(IsInvalid(with("nodes_modes", Bytes({0, 7, 0}))));
  CHECK(IsInvalid(with("nodes_truenodeids", Ints{0, 0, 3})));  // a cycle
  CHECK(IsInvalid(with("nodes_truenodeids", Ints{3, 0, 3})));
  CHECK(IsInvalid(with("nodes_falsenodeids", Ints{4, 1, 3})));
  CHECK(IsInvalid(with("leaf_targetids", Ints{0, 2, 0, 1})));
  CHECK(IsInvalid(with("leaf_targetids", Ints{0, 1})));
  CHECK(IsInvalid(with("tree_roots", Ints{3})));
  CHECK(IsInvalid(with("tree_roots", Ints{0, 1})));  // inside the first tree
  CHECK(IsInvalid(with("membership_values", Tensor::Float32({2}, {2, 3}))));
  CHECK(IsInvalid(with("membership_values", Tensor::Float32({2}, {kNan, kNan}))));
  CHECK(IsInvalid(with("aggregate_function", int64_t{4})));
  CHECK(IsInvalid(with("n_targets", int64_t{0})));
  CHECK(with("n_targets", int64_t{1} << 60).error().code == ErrorCode::kOutOfMemory);
}

TEST_CASE("Binarizer, NanIsNotAboveTheThreshold", "[backend]") {
  const auto y = EvaluateOf("ai.onnx.ml", "Binarizer", 1, {{"threshold", 1.0F}},
                            {Tensor::Float32({4}, {kNan, 1, 1.5F, HUGE_VALF})});
  CHECK(Floats(y) == std::vector<float>{0, 0, 1, 1});
}

TEST_CASE("ArrayFeatureExtractor, PicksFromTheLastDimAndChecksIndices", "[backend]") {
  const auto pick = [](std::vector<int64_t> dims, std::vector<float> x, std::vector<int64_t> indices) {
    const auto count = static_cast<int64_t>(indices.size());
    return EvaluateOf("ai.onnx.ml", "ArrayFeatureExtractor", 1, {},
                      {Tensor::Float32(std::move(dims), x), Tensor::Int64({count}, indices)});
  };
  CHECK(Floats(pick({2, 2}, {1, 2, 3, 4}, {1, 1, 0})) == std::vector<float>{2, 2, 1, 4, 4, 3});
  const auto vector = pick({3}, {1, 2, 3}, {2});
  CHECK(Floats(vector) == std::vector<float>{3});
  CHECK((*vector)[0].dims() == std::vector<int64_t>{1, 1});
  CHECK(IsInvalid(pick({3}, {1, 2, 3}, {3})));
  CHECK(IsInvalid(pick({3}, {1, 2, 3}, {-1})));
}

// ---- n-grams ----

std::string Vectorizer(const std::string& dims, const std::string& attributes) {
  return "input x int64[" + dims + "]\ny = TfIdfVectorizer(x) min_gram_length=1 max_gram_length=2 " + attributes +
         "\noutput y\n";
}
const std::string kPool = " ngram_counts=[0,2] pool_int64s=[2,3,5,6,7,8] ngram_indexes=[3,0,1,2]";

TEST_CASE("TfIdfVectorizer, WeightsBelongToNGramsAndNotToColumns", "[backend]") {
  const Tensor x = Tensor::Int64({7}, {2, 3, 3, 5, 6, 7, 8});
  const std::string weights = " weights=[10.0,20.0,30.0,40.0]";
  CHECK(Floats(Evaluate(Vectorizer("7", "max_skip_count=0 mode=\"TF\"" + kPool), {x})) ==
        std::vector<float>{2, 1, 1, 1});
  CHECK(Floats(Evaluate(Vectorizer("7", "max_skip_count=0 mode=\"TFIDF\"" + kPool + weights), {x})) ==
        std::vector<float>{40, 30, 40, 10});
  CHECK(Floats(Evaluate(Vectorizer("7", "max_skip_count=0 mode=\"IDF\"" + kPool + weights), {x})) ==
        std::vector<float>{20, 30, 40, 10});
}

TEST_CASE("TfIdfVectorizer, SkipsReachOverItemsAndSingleItemsCountOnce", "[backend]") {
  const Tensor x = Tensor::Int64({4}, {5, 2, 6, 2});
  CHECK(Floats(Evaluate(Vectorizer("4", "max_skip_count=0 mode=\"TF\"" + kPool), {x})) ==
        std::vector<float>{0, 0, 0, 2});
  CHECK(Floats(Evaluate(Vectorizer("4", "max_skip_count=9223372036854775807 mode=\"TF\"" + kPool), {x})) ==
        std::vector<float>{0, 1, 0, 2});
}

TEST_CASE("TfIdfVectorizer, EmptySequencesCountNothing", "[backend]") {
  const auto counted = [](const std::string& dims, std::vector<int64_t> as) {
    const auto results =
        Evaluate(Vectorizer(dims, "max_skip_count=1 mode=\"TF\"" + kPool), {Tensor::Int64(std::move(as), {})});
    const std::vector<float> y = Floats(results);
    CHECK(std::all_of(y.begin(), y.end(), [](float count) { return count == 0; }));
    return (*results)[0].dims();
  };
  CHECK(counted("0", {0}) == std::vector<int64_t>{4});
  CHECK(counted("2,0", {2, 0}) == std::vector<int64_t>{2, 4});
  CHECK(counted("0,3", {0, 3}) == std::vector<int64_t>{0, 4});
}

TEST_CASE("TfIdfVectorizer, PoolsThatDoNotFitAreTypedErrors", "[backend]") {
  const Tensor x = Tensor::Int64({1}, {2});
  for (const char* pool : {" ngram_counts=[0,2] pool_int64s=[2,3,5,6,7] ngram_indexes=[0,1,2]",
                           " ngram_counts=[0,2] pool_int64s=[2,3,5,6] ngram_indexes=[0,1]",
                           " ngram_counts=[0,9] pool_int64s=[2,3,5,6] ngram_indexes=[0,1,2]",
                           " ngram_counts=[2,0] pool_int64s=[2,3,5,6] ngram_indexes=[0,1,2]",
                           " ngram_counts=[0,2] pool_int64s=[2,2,5,6] ngram_indexes=[0,1,2]",
                           " ngram_counts=[0,2] pool_int64s=[2,3,5,6] ngram_indexes=[0,-1,2]",
                           " ngram_counts=[0,2] pool_int64s=[2,3,5,6] ngram_indexes=[0,1,9223372036854775807]"}) {
    CAPTURE(pool);
    CHECK(IsInvalid(Evaluate(Vectorizer("1", "max_skip_count=0 mode=\"TF\"" + std::string(pool)), {x})));
  }
}

// ---- Training ----

TEST_CASE("Optimisers, OneStepOfEachByHand", "[backend]") {
  const Tensor rate = Tensor::Float32({}, {0.5F}), x = Tensor::Float32({1}, {2}), gradient = Tensor::Float32({1}, {3}),
               state = Tensor::Float32({1}, {16});
  const std::string domain = "ai.onnx.preview.training";
  const auto at = [](int64_t steps) { return Tensor::Int64({}, {steps}); };
  const auto adagrad = EvaluateOf(domain, "Adagrad", 1, {{"epsilon", 0.0F}, {"decay_factor", 1.0F}},
                                  {rate, at(1), x, gradient, state}, 2);
  CHECK(Floats(adagrad)[0] == Catch::Approx(2 - 0.25 * 3 / 5));
  CHECK(Floats(adagrad, 1)[0] == 25);
  const Attributes momentum = {
      {"alpha", 0.5F}, {"beta", 0.25F}, {"norm_coefficient", 1.0F}, {"mode", std::string("standard")}};
  const auto first = EvaluateOf(domain, "Momentum", 1, momentum, {rate, at(0), x, gradient, state}, 2);
  CHECK(Floats(first)[0] == Catch::Approx(2 - 0.5 * 13));  // the first gradient counts in full
  const auto later = EvaluateOf(domain, "Momentum", 1, momentum, {rate, at(3), x, gradient, state}, 2);
  CHECK(Floats(later, 1)[0] == Catch::Approx(8 + 0.25 * 5));
  const auto adam = EvaluateOf(domain, "Adam", 1, {{"alpha", 0.5F}, {"beta", 0.75F}, {"epsilon", 0.0F}},
                               {rate, at(0), x, gradient, state, state}, 3);
  CHECK(Floats(adam, 1)[0] == Catch::Approx(9.5));
  CHECK(Floats(adam, 2)[0] == Catch::Approx(14.25));
  CHECK(Floats(adam)[0] == Catch::Approx(2 - 0.5 * 9.5 / std::sqrt(14.25)));
  CHECK(IsInvalid(EvaluateOf(domain, "Adam", 1, {}, {rate, at(0), x, gradient, state}, 2)));
  CHECK(IsInvalid(EvaluateOf(domain, "Adagrad", 1, {}, {rate, at(0), x, Tensor::Float32({2}, {1, 2}), state}, 2)));
}

TEST_CASE("BatchNormalization, TrainingNormalisesByTheBatchAndMovesTheAverages", "[backend]") {
  const auto results = Evaluate(
      "input x float32[2,1,2]\nconst s float32[1] ones\nconst b float32[1] zeros\n"
      "const m float32[1] ones\nconst v float32[1] ones\n"
      "y, mean, variance = BatchNormalization(x, s, b, m, v) training_mode=1 momentum=0.75 epsilon=0.0\n"
      "output y\noutput mean\noutput variance\n",
      {Tensor::Float32({2, 1, 2}, {1, 3, 5, 7}), Tensor::Float32({1}, {1}), Tensor::Float32({1}, {0}),
       Tensor::Float32({1}, {1}), Tensor::Float32({1}, {1})});
  const std::vector<float> y = Floats(results);
  for (size_t i = 0; i < 4; ++i) CHECK(y[i] == Catch::Approx((2.0 * static_cast<double>(i) - 3) / std::sqrt(5.0)));
  CHECK(Floats(results, 1)[0] == Catch::Approx(0.75 + 0.25 * 4));
  CHECK(Floats(results, 2)[0] == Catch::Approx(0.75 + 0.25 * 5));
}

TEST_CASE("MelWeightMatrix, FiltersBeyondTheSpectrumAreTypedErrors", "[backend]") {
  const auto mel = [](int64_t bins, int64_t length, int64_t rate, float low, float high) {
    return Evaluate(
        "input n int64[]\ninput l int64[]\ninput r int64[]\ninput a float32[]\ninput b float32[]\n"
        "y = MelWeightMatrix(n, l, r, a, b)\noutput y\n",
        {Tensor::Int64({}, {bins}), Tensor::Int64({}, {length}), Tensor::Int64({}, {rate}), Tensor::Float32({}, {low}),
         Tensor::Float32({}, {high})});
  };
  const auto right = mel(8, 16, 8192, 0, 4096);
  REQUIRE(right.ok());
  CHECK((*right)[0].dims() == std::vector<int64_t>{9, 8});
  CHECK((*mel(0, 16, 8192, 0, 4096))[0].dims() == std::vector<int64_t>{9, 0});
  CHECK(IsInvalid(mel(8, 16, 8192, 0, 1e9F)));
  CHECK(IsInvalid(mel(8, 16, 8192, 5, 4)));
  CHECK(IsInvalid(mel(8, 16, 0, 0, 4096)));
  CHECK(IsInvalid(mel(-1, 16, 8192, 0, 4096)));
  CHECK(IsInvalid(mel(8, 0, 8192, 0, 4096)));
  CHECK(IsInvalid(mel(8, 16, 8192, kNan, 4096)));
}

}  // namespace
}  // namespace pt::reference_learning_test
