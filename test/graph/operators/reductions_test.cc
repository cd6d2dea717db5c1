#include "partitiontuner/graph/operators/reductions.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/operators/movements.h"
#include "test/graph/operators/made_node.h"

namespace pt::reductions_test {
namespace {

using testing::Made;

constexpr int64_t kNow = 25;
using Ints = std::vector<int64_t>;
using Mask = std::vector<bool>;

std::optional<Tensor> List(const Ints& axes) { return Tensor::Int64({static_cast<int64_t>(axes.size())}, axes); }

TEST_CASE("ReadReducedDims, WithoutAxesAllDimsOrNone", "[graph]") {
  CHECK(*ReadReducedDims(Made("ReduceSum"), 3, std::nullopt) == Mask{true, true, true});
  CHECK(*ReadReducedDims(Made("ReduceSum"), 3, List({})) == Mask{true, true, true});
  const Node no_op = Made("ReduceSum", {{"noop_with_empty_axes", int64_t{1}}});
  CHECK(*ReadReducedDims(no_op, 3, std::nullopt) == Mask{false, false, false});
  CHECK(*ReadReducedDims(no_op, 3, List({1})) == Mask{false, true, false});
}

TEST_CASE("ReadReducedDims, TakesAxesFromTheInputOrElseTheAttribute", "[graph]") {
  const Node node = Made("ReduceMean", {{"axes", Ints{0, -1}}});
  CHECK(*ReadReducedDims(node, 3, std::nullopt) == Mask{true, false, true});
  CHECK(*ReadReducedDims(node, 3, List({1})) == Mask{false, true, false});
  CHECK(*ReadReducedDims(Made("ReduceMean", {{"axes", int64_t{-2}}}), 3, std::nullopt) == Mask{false, true, false});
}

TEST_CASE("ReadReducedDims, RefusesAxesThatDoNotExistAndWhatIsNotAList", "[graph]") {
  CHECK_FALSE(ReadReducedDims(Made("ReduceMax"), 3, List({3})).ok());
  CHECK_FALSE(ReadReducedDims(Made("ReduceMax"), 3, List({0, -4})).ok());
  CHECK_FALSE(ReadReducedDims(Made("ReduceMax"), 3, Tensor::Int64({1, 1}, Ints{0})).ok());
  CHECK_FALSE(ReadReducedDims(Made("ReduceMax", {{"axes", 1.0F}}), 3, std::nullopt).ok());
}

TEST_CASE("KeepsReducedDims, UnlessTheNodeSaysOtherwise", "[graph]") {
  CHECK(KeepsReducedDims(Made("ReduceMax")));
  CHECK_FALSE(KeepsReducedDims(Made("ReduceMax", {{"keepdims", int64_t{0}}})));
}

TEST_CASE("ReadArgReduction, DefaultsAndEachAttribute", "[graph]") {
  CHECK(*ReadArgReduction(Made("ArgMax"), kNow, 3) == ArgReductionNode{0, true, false});
  const Node node =
      Made("ArgMin", {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}, {"select_last_index", int64_t{1}}});
  CHECK(*ReadArgReduction(node, kNow, 3) == ArgReductionNode{2, false, true});
  CHECK_FALSE(ReadArgReduction(node, kNow, 0).ok());
}

TEST_CASE("ReadTopK, DefaultsAndEachAttribute", "[graph]") {
  CHECK(*ReadTopK(Made("TopK"), kNow, 3) == TopKNode{2, true, true, std::nullopt});
  const Node node = Made("TopK", {{"axis", int64_t{0}}, {"largest", int64_t{0}}, {"sorted", int64_t{0}}});
  CHECK(*ReadTopK(node, kNow, 3) == TopKNode{0, false, false, std::nullopt});
  CHECK(ReadTopK(Made("TopK", {{"k", int64_t{5}}}), 1, 3)->k == 5);
  CHECK_FALSE(ReadTopK(Made("TopK", {{"axis", int64_t{3}}}), kNow, 3).ok());
}

TEST_CASE("ReadCumulative, DefaultsAndEachAttribute", "[graph]") {
  CHECK(ReadCumulative(Made("CumSum")) == CumulativeNode{false, false});
  CHECK(ReadCumulative(Made("CumSum", {{"exclusive", int64_t{1}}})) == CumulativeNode{true, false});
  CHECK(ReadCumulative(Made("CumProd", {{"reverse", int64_t{1}}})) == CumulativeNode{false, true});
}

TEST_CASE("ReadPermutation, ReversesTheDimsUnlessTheNodeNamesAnOrder", "[graph]") {
  CHECK(*ReadPermutation(Made("Transpose"), 3) == std::vector<size_t>{2, 1, 0});
  CHECK(ReadPermutation(Made("Transpose"), 0)->empty());
  CHECK(*ReadPermutation(Made("Transpose", {{"perm", Ints{1, 2, 0}}}), 3) == std::vector<size_t>{1, 2, 0});
  for (const Ints& wrong : {Ints{0, 1}, Ints{0, 1, 1}, Ints{0, 1, 3}, Ints{0, 1, -1}, Ints{0, 1, 2, 3}, Ints{}}) {
    CHECK_FALSE(ReadPermutation(Made("Transpose", {{"perm", wrong}}), 3).ok());
  }
}

TEST_CASE("ReadDepthSpace, NeedsAPositiveBlockAndAKnownMode", "[graph]") {
  CHECK(*ReadDepthSpace(Made("DepthToSpace", {{"blocksize", int64_t{2}}})) == DepthSpaceNode{2, true});
  const Node other = Made("DepthToSpace", {{"blocksize", int64_t{3}}, {"mode", std::string("CRD")}});
  CHECK(*ReadDepthSpace(other) == DepthSpaceNode{3, false});
  CHECK_FALSE(ReadDepthSpace(Made("DepthToSpace")).ok());
  CHECK_FALSE(ReadDepthSpace(Made("DepthToSpace", {{"blocksize", int64_t{65537}}})).ok());
  const Node wrong = Made("DepthToSpace", {{"blocksize", int64_t{3}}, {"mode", std::string("RCD")}});
  CHECK_FALSE(ReadDepthSpace(wrong).ok());
}

}  // namespace
}  // namespace pt::reductions_test
