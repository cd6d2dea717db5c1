// SVMRegressor, SVMClassifier and OneHotEncoder. Expected numbers are worked out by hand, or ONNX Runtime's of version
// 1.32.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "test/backend/domain_node.h"
#include "test/backend/node_results.h"

namespace pt::reference_vectors_test {
namespace {

using testing::Attributes;
using testing::EvaluateOf;
using testing::Floats;
using testing::IsInvalid;
using Ints = std::vector<int64_t>;
using Reals = std::vector<float>;

const Tensor kRows = Tensor::Float32({2, 2}, {1, 2, -1, 0});

Result<std::vector<Tensor>> Regress(const std::string& kernel, const Attributes& more = {}) {
  Attributes attributes = {{"kernel_type", kernel},        {"kernel_params", Reals{0.5F, 1, 2}},
                           {"n_supports", int64_t{2}},     {"support_vectors", Reals{1, 0, 0, 2}},
                           {"coefficients", Reals{1, -2}}, {"rho", Reals{0.25F}}};
  for (const auto& [name, value] : more) attributes[name] = value;
  return EvaluateOf("ai.onnx.ml", "SVMRegressor", 1, attributes, {kRows});
}

TEST_CASE("SupportVectors, KernelsCompareRows", "[backend]") {
  const auto near = [](const Result<std::vector<Tensor>>& results, double first, double second) {
    const Reals y = Floats(results);
    REQUIRE(y.size() == 2);
    CHECK(y[0] == Catch::Approx(first).margin(1e-6));
    CHECK(y[1] == Catch::Approx(second).margin(1e-6));
  };
  // Products with the vectors are 1 and 4, -1 and 0; squared distances 4 and 1, 4 and 5.
  near(Regress("LINEAR"), 1 - 8 + 0.25, -1 + 0.25);
  near(Regress("POLY"), 2.25 - 2 * 9 + 0.25, 0.25 - 2 + 0.25);
  near(Regress("RBF"), std::exp(-2) - 2 * std::exp(-0.5) + 0.25, std::exp(-2) - 2 * std::exp(-2.5) + 0.25);
  near(Regress("SIGMOID"), std::tanh(1.5) - 2 * std::tanh(3.0) + 0.25, std::tanh(0.5) - 2 * std::tanh(1.0) + 0.25);
  near(Regress("LINEAR", {{"one_class", int64_t{1}}}), -1, -1);
  near(Regress("RBF", {{"n_supports", int64_t{0}}}), 1 - 4 + 0.25, -1 + 0.25);  // coefficients of features
  CHECK((*Regress("LINEAR"))[0].dims() == Ints{2, 1});
  CHECK(IsInvalid(Regress("LINEAR", {{"coefficients", Reals{1}}})));
  CHECK(IsInvalid(Regress("LINEAR", {{"support_vectors", Reals{1, 2, 3}}})));
  CHECK(IsInvalid(Regress("LINEAR", {{"n_supports", int64_t{1} << 62}})));
  CHECK(IsInvalid(Regress("LINEAR", {{"rho", Reals{}}})));
  CHECK(IsInvalid(Regress("RBF", {{"kernel_params", Reals{1}}})));
  CHECK(IsInvalid(Regress("GAUSS")));
}

Result<std::vector<Tensor>> Classify(Ints labels, Ints counts, Reals coefficients, Reals rho,
                                     const Attributes& more = {}) {
  Attributes attributes = {{"classlabels_ints", labels},
                           {"vectors_per_class", counts},
                           {"support_vectors", Reals{1, 0, 0, 2, -1, 1}},
                           {"coefficients", coefficients},
                           {"rho", rho}};
  for (const auto& [name, value] : more) attributes[name] = value;
  return EvaluateOf("ai.onnx.ml", "SVMClassifier", 1, attributes, {kRows}, 2);
}

TEST_CASE("SupportVectors, PairsOfClassesVote", "[backend]") {
  // Products with the three vectors are 1, 4, 1 and -1, 0, 1.
  const auto two = Classify({5, 7}, {1, 2}, {1, -1, 2}, {0.5F});
  CHECK((*two)[0].ToInts() == Ints{7, 5});
  CHECK(Floats(two, 1) == Reals{0.5F, -0.5F, -1.5F, 1.5F});
  // Rows of coefficients: against the first of the others, and against the second.
  const auto three = Classify({5, 7, 9}, {1, 1, 1}, {1, -1, 2, 3, 1, -2}, {0.5F, 0, 1});
  CHECK(Floats(three, 1) == Reals{-2.5F, 5, 3, -0.5F, -1, -1});
  CHECK((*three)[0].ToInts() == Ints{7, 9});  // votes 1 2 0 and 0 1 2
  CHECK(IsInvalid(Classify({5, 7}, {1, 2}, {1, -1}, {0.5F})));
  CHECK(IsInvalid(Classify({5, 7}, {1, 1, 1}, {1, -1, 2}, {0.5F})));
  CHECK(IsInvalid(Classify({5, 7, 9}, {1, 1, 1}, {1, -1, 2, 3, 1, -2}, {0.5F})));
  CHECK(IsInvalid(Classify({5, 7}, {4, -1}, {1, -1, 2}, {0.5F})));
  CHECK(IsInvalid(Classify({5, 7}, {1, 2}, {1, -1, 2}, {0.5F}, {{"prob_a", Reals{1}}})));
}

TEST_CASE("SupportVectors, ProbabilitiesOfPairsAreCoupled", "[backend]") {
  // Of two classes they are those of the pair.
  const auto two = Classify({5, 7}, {1, 2}, {1, -1, 2}, {0.5F}, {{"prob_a", Reals{-1}}, {"prob_b", Reals{0}}});
  const Reals p = Floats(two, 1);
  CHECK(p[0] == Catch::Approx(1 / (1 + std::exp(0.5))).epsilon(0.01));
  CHECK(p[0] + p[1] == Catch::Approx(1));
  CHECK((*two)[0].ToInts() == Ints{7, 5});
  const auto three = Classify({5, 7, 9}, {1, 1, 1}, {1, -1, 2, 3, 1, -2}, {0.5F, 0, 1},
                              {{"prob_a", Reals{-1, -0.5F, 2}}, {"prob_b", Reals{0, 0.25F, -1}}});
  const Reals expected = {0.35815704F, 0.28797674F, 0.35386631F, 0.24363789F, 0.64434123F, 0.11202105F};
  for (size_t i = 0; i < expected.size(); ++i) CHECK(Floats(three, 1)[i] == Catch::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("SupportVectors, LinearClassesWithoutVectors", "[backend]") {
  const Attributes none = {{"vectors_per_class", Ints{}}, {"support_vectors", Reals{}}};
  const auto three = Classify({5, 7, 9}, {}, {1, 0, 0, 1, -1, -1}, {0.5F}, none);
  CHECK((*three)[0].ToInts() == Ints{7, 9});
  CHECK(Floats(three, 1) == Reals{1.5F, 2.5F, -2.5F, -0.5F, 0.5F, 1.5F});
  CHECK(Classify({5, 7}, {}, {1, 0, 0, 1}, {0.5F}, none).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("OneHotEncoder, OnesAtThePlacesOfCategories", "[backend]") {
  const auto encode = [](const Tensor& x, const Attributes& more = {}) {
    Attributes attributes = {{"cats_int64s", Ints{3, -1, 2, 3}}};
    for (const auto& [name, value] : more) attributes[name] = value;
    return EvaluateOf("ai.onnx.ml", "OneHotEncoder", 1, attributes, {x});
  };
  const auto ints = encode(Tensor::Int64({2, 1}, {2, 3}));
  CHECK(Floats(ints) == Reals{0, 0, 1, 0, 0, 0, 0, 1});  // of equal categories the last
  CHECK((*ints)[0].dims() == Ints{2, 1, 4});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(Floats(encode(Tensor::Float32({4}, {-1.5F, nan, 1e30F, 9}))) ==
        Reals{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(IsInvalid(encode(Tensor::Int64({1}, {7}), {{"zeros", int64_t{0}}})));
  CHECK(IsInvalid(encode(Tensor::Int64({1}, {7}), {{"cats_int64s", Ints{}}})));
}

}  // namespace
}  // namespace pt::reference_vectors_test
