#include "partitiontuner/graph/operators/normalizations.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "partitiontuner/graph/operators/elementwise.h"
#include "test/graph/operators/made_node.h"

namespace pt::normalizations_test {
namespace {

using testing::Made;

TEST_CASE("ReadBatchNormalization, DefaultsAndEachAttribute", "[graph]") {
  CHECK(ReadBatchNormalization(Made("BatchNormalization")) == BatchNormalizationNode{1e-5F, 0.9F, false});
  const Node node = Made("BatchNormalization", {{"epsilon", 0.5F}, {"momentum", 0.25F}, {"training_mode", int64_t{1}}});
  CHECK(ReadBatchNormalization(node) == BatchNormalizationNode{0.5F, 0.25F, true});
}

TEST_CASE("Normalizations, DefaultsAndEachAttribute", "[graph]") {
  const Node plain = Made("LayerNormalization");
  CHECK(ReadEpsilon(plain) == 1e-5F);
  CHECK(HasFloat32Statistics(plain));
  CHECK(ReadEpsilon(Made("RMSNormalization", {{"epsilon", 0.5F}})) == 0.5F);
  CHECK_FALSE(HasFloat32Statistics(Made("LayerNormalization", {{"stash_type", int64_t{16}}})));
  CHECK(ReadGroups(Made("GroupNormalization")) == 0);
  CHECK(ReadGroups(Made("GroupNormalization", {{"num_groups", int64_t{4}}})) == 4);
}

TEST_CASE("ReadLpOrder, IsTwoUnlessTheNodeSaysOne", "[graph]") {
  CHECK(*ReadLpOrder(Made("LpNormalization")) == 2);
  CHECK(*ReadLpOrder(Made("LpNormalization", {{"p", int64_t{1}}})) == 1);
  for (const int64_t p : {0, 3, -1}) CHECK_FALSE(ReadLpOrder(Made("LpNormalization", {{"p", p}})).ok());
}

TEST_CASE("ReadLrn, NeedsAPositiveSize", "[graph]") {
  CHECK(*ReadLrn(Made("LRN", {{"size", int64_t{5}}})) == LrnNode{5, 1e-4F, 0.75F, 1.0F});
  const Node node = Made("LRN", {{"size", int64_t{3}}, {"alpha", 0.5F}, {"beta", 0.25F}, {"bias", 2.0F}});
  CHECK(*ReadLrn(node) == LrnNode{3, 0.5F, 0.25F, 2.0F});
  CHECK_FALSE(ReadLrn(Made("LRN")).ok());
  CHECK_FALSE(ReadLrn(Made("LRN", {{"size", int64_t{-3}}})).ok());
}

TEST_CASE("ReadActivation, TheDefaultsAreThoseOfEachOperator", "[graph]") {
  const auto read = [](const char* op) { return ReadActivation(Made(op)); };
  for (const char* op : {"Celu", "Elu", "Swish", "SwiGLU", "ThresholdedRelu"}) {
    INFO(op);
    CHECK(read(op) == ActivationNode{1, 0});
  }
  CHECK(read("LeakyRelu") == ActivationNode{0.01F, 0});
  CHECK(read("HardSigmoid") == ActivationNode{0.2F, 0.5F});
  CHECK(read("Selu") == ActivationNode{1.67326319217681884765625F, 1.05070102214813232421875F});
  CHECK(read("Shrink") == ActivationNode{0.5F, 0});
  CHECK(read("Relu") == ActivationNode{0, 0});
}

TEST_CASE("ReadActivation, TakesEachAttributeByItsOwnName", "[graph]") {
  CHECK(ReadActivation(Made("HardSigmoid", {{"alpha", 3.0F}, {"beta", 4.0F}})) == ActivationNode{3, 4});
  CHECK(ReadActivation(Made("Selu", {{"alpha", 3.0F}, {"gamma", 4.0F}})) == ActivationNode{3, 4});
  CHECK(ReadActivation(Made("Shrink", {{"lambd", 3.0F}, {"bias", 4.0F}})) == ActivationNode{3, 4});
  CHECK(ReadActivation(Made("Elu", {{"alpha", 3.0F}, {"beta", 4.0F}})) == ActivationNode{3, 0});
}

TEST_CASE("ReadGelu, IsExactUnlessTheNodeSaysTanh", "[graph]") {
  CHECK(*ReadGelu(Made("Gelu")) == GeluForm::kErf);
  CHECK(IsGelu(Made("Gelu", {{"approximate", std::string("tanh")}}), GeluForm::kTanh));
  const Node other = Made("Gelu", {{"approximate", std::string("sigmoid")}});
  CHECK_FALSE(ReadGelu(other).ok());
  CHECK_FALSE(IsGelu(other, GeluForm::kErf));
}

TEST_CASE("IsTruncatedModulo, OnlyWhereTheNodeSaysSo", "[graph]") {
  CHECK_FALSE(IsTruncatedModulo(Made("Mod")));
  CHECK(IsTruncatedModulo(Made("Mod", {{"fmod", int64_t{1}}})));
}

TEST_CASE("ReadNamedBounds, AreInfiniteWithoutAttributes", "[graph]") {
  constexpr float kMost = std::numeric_limits<float>::infinity();
  CHECK(ReadNamedBounds(Made("Clip")) == BoundsNode{-kMost, kMost});
  CHECK(ReadNamedBounds(Made("Clip", {{"min", 0.0F}, {"max", 6.0F}})) == BoundsNode{0, 6});
}

}  // namespace
}  // namespace pt::normalizations_test
