#include "partitiontuner/graph/operators/einsum.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

namespace pt::einsum_test {
namespace {

Result<EinsumNode> Read(const std::string& equation, const std::vector<size_t>& ranks) {
  Node node;
  node.op = "Einsum";
  node.attributes["equation"] = equation;
  return ReadEinsum(node, ranks);
}

TEST_CASE("ReadEinsum, WhatTheEquationLeavesOutIsSpelledOut", "[graph]") {
  CHECK(Read("ij, jk -> ik", {2, 2}).value() == EinsumNode{{"ij", "jk"}, "ik"});
  CHECK(Read("kj,jB", {2, 2}).value() == EinsumNode{{"kj", "jB"}, "Bk"});
  CHECK(Read("...k,kj->...j", {3, 2}).value() == EinsumNode{{"10k", "kj"}, "10j"});
  CHECK(Read("...i,...i", {2, 3}).value() == EinsumNode{{"0i", "10i"}, "10"});
  CHECK(Read("ii->i", {2}).value() == EinsumNode{{"ii"}, "i"});
  CHECK(Read(",i->i", {0, 1}).value() == EinsumNode{{"", "i"}, "i"});
}

TEST_CASE("ReadEinsum, WhatDoesNotFitIsRefused", "[graph]") {
  for (const auto& [equation, ranks] : std::vector<std::pair<std::string, std::vector<size_t>>>{
           {"ij->ij", {3}}, {"ij,jk", {2}}, {"ij", {2, 2}}, {"i1->i", {2}}, {"...ijk->i", {2}}, {"ij->i.", {2}}}) {
    INFO(equation);
    CHECK_FALSE(Read(equation, ranks).ok());
  }
}

}  // namespace
}  // namespace pt::einsum_test
