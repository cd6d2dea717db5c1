#include "partitiontuner/graph/operators/gemm.h"

#include <catch2/catch_test_macros.hpp>

namespace pt::gemm_test {
namespace {

Node Gemm() {
  Node node;
  node.op = "Gemm";
  return node;
}

TEST_CASE("ReadGemm, WithoutAttributesItIsAPlainProductAndSum", "[graph]") {
  const GemmNode gemm = ReadGemm(Gemm());
  CHECK(gemm == GemmNode{false, false, 1, 1});
  CHECK_FALSE(gemm.is_scaled());
}

TEST_CASE("ReadGemm, TakesEachAttributeToItsOwnField", "[graph]") {
  Node node = Gemm();
  node.attributes = {{"transA", int64_t{1}}, {"alpha", 0.5F}};
  CHECK(ReadGemm(node) == GemmNode{true, false, 0.5F, 1});
  node.attributes = {{"transB", int64_t{1}}, {"beta", 0.0F}};
  CHECK(ReadGemm(node) == GemmNode{false, true, 1, 0});
  CHECK(ReadGemm(node).is_scaled());
}

}  // namespace
}  // namespace pt::gemm_test
