#include "partitiontuner/graph/operators/axis.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/operators/softmax.h"
#include "partitiontuner/graph/operators/views.h"

namespace pt::axis_test {
namespace {

constexpr int64_t kNow = 25;

Node Named(const char* op) {
  Node node;
  node.op = op;
  return node;
}
Node Along(const char* op, int64_t axis) {
  Node node = Named(op);
  node.attributes["axis"] = axis;
  return node;
}

TEST_CASE("ReadAxis, WithoutTheAttributeItIsTheOperatorsDefault", "[graph]") {
  for (const char* op : {"ArgMax", "ArgMin", "Gather", "GatherElements", "ScatterElements", "Split", "Concat"}) {
    INFO(op);
    CHECK(*ReadAxis(Named(op), kNow, 4) == 0);
  }
  for (const char* op : {"QuantizeLinear", "DequantizeLinear"}) CHECK(*ReadAxis(Named(op), kNow, 4) == 1);
  for (const char* op : {"LayerNormalization", "RMSNormalization", "LpNormalization", "OneHot", "TopK"}) {
    INFO(op);
    CHECK(*ReadAxis(Named(op), kNow, 4) == 3);
  }
  CHECK(*ReadAxis(Named("TensorScatter"), kNow, 4) == 2);
}

TEST_CASE("ReadAxis, ConcatOfTheFirstOperatorSetsJoinsTheSecondDim", "[graph]") {
  CHECK(*ReadAxis(Named("Concat"), 3, 4) == 1);
  CHECK(*ReadAxis(Named("Concat"), 4, 4) == 0);
}

TEST_CASE("ReadAxis, NegativeOnesCountFromTheEndAndOthersAreRefused", "[graph]") {
  CHECK(*ReadAxis(Along("Gather", -1), kNow, 3) == 2);
  CHECK(*ReadAxis(Along("Gather", -3), kNow, 3) == 0);
  CHECK(*ReadAxis(Along("Gather", 2), kNow, 3) == 2);
  for (const int64_t axis : {int64_t{3}, int64_t{-4}, INT64_MIN, INT64_MAX}) {
    const Result<size_t> read = ReadAxis(Along("Gather", axis), kNow, 3);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::kInvalidInput);
    CHECK(read.error().message.find(std::to_string(axis)) != std::string::npos);
  }
  CHECK_FALSE(ReadAxis(Along("Gather", 0), kNow, 0).ok());
}

TEST_CASE("ReadAxis, RefusesOperatorsThatItDoesNotKnow", "[graph]") {
  const Result<size_t> read = ReadAxis(Along("Add", 0), kNow, 3);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("ReadFlatten, CountsThePositionBehindTheLastDimButNotFromTheEnd", "[graph]") {
  CHECK(*ReadFlatten(Named("Flatten"), 3) == 1);
  CHECK(*ReadFlatten(Along("Flatten", 3), 3) == 3);
  CHECK(*ReadFlatten(Along("Flatten", 0), 0) == 0);
  CHECK(*ReadFlatten(Along("Flatten", -1), 3) == 2);
  CHECK_FALSE(ReadFlatten(Along("Flatten", -4), 3).ok());
  CHECK_FALSE(ReadFlatten(Along("Flatten", 4), 3).ok());
}

TEST_CASE("ReadSoftmax, SinceOperatorSet13IsAlongOneDim", "[graph]") {
  CHECK(*ReadSoftmax(Named("Softmax"), 13, 4) == SoftmaxNode{3, 4});
  CHECK(*ReadSoftmax(Along("Softmax", 1), 13, 4) == SoftmaxNode{1, 2});
  CHECK(*ReadSoftmax(Along("Softmax", -2), 13, 4) == SoftmaxNode{2, 3});
  CHECK(*ReadSoftmax(Named("Softmax"), 13, 0) == SoftmaxNode{0, 0});
  CHECK_FALSE(ReadSoftmax(Along("Softmax", 4), 13, 4).ok());
}

TEST_CASE("ReadSoftmax, BeforeOperatorSet13IsOverAllDimsFromTheAxisOn", "[graph]") {
  CHECK(*ReadSoftmax(Named("Softmax"), 12, 4) == SoftmaxNode{1, 4});
  CHECK(*ReadSoftmax(Along("LogSoftmax", -1), 12, 4) == SoftmaxNode{3, 4});
  CHECK(*ReadSoftmax(Along("Hardmax", 4), 12, 4) == SoftmaxNode{4, 4});
  CHECK(*ReadSoftmax(Named("Softmax"), 12, 1) == SoftmaxNode{1, 1});
  CHECK_FALSE(ReadSoftmax(Along("Softmax", 5), 12, 4).ok());
  CHECK_FALSE(IsSoftmaxOfLastDim(Named("Softmax"), 12, 4));
  CHECK(IsSoftmaxOfLastDim(Named("Softmax"), 12, 2));
  CHECK(IsSoftmaxOfLastDim(Named("Softmax"), 13, 4));
  CHECK_FALSE(IsSoftmaxOfLastDim(Along("Softmax", 1), 13, 4));
}

}  // namespace
}  // namespace pt::axis_test
