#include "partitiontuner/cost/work_features.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <set>

#include "partitiontuner/cost/profiled_costs.h"
#include "test/cost/sample_problem.h"

namespace pt::work_features_test {
namespace {

TEST_CASE("WorkFeatures, OfAGroupInABlockedLayout", "[cost]") {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueType wide = StaticType(DataType::kFloat32, {2, 20, 3, 4});
  const ValueId x = builder.AddInput("x", StaticType(DataType::kFloat32, {2, 6, 5, 6}));
  const ValueId w = builder.AddConstant("w", Tensor::Float32({20, 3, 3, 3}, std::vector<float>(540, 1.0F)));
  const ValueId conv = builder.AddOp("Conv", {x, w}, wide, {{"group", int64_t{2}}});
  builder.AddOutput(builder.AddOp("Relu", {conv}, wide));
  const Graph graph = builder.Build().value();
  Candidate candidate = RunsAlone(graph, NodeId(0u), UnitClassId(0u));
  candidate.nodes = {NodeId(0u), NodeId(1u)};
  candidate.variant = "v";
  candidate.out = {Form{ChannelBlocked(4, 16), DataType::kFloat32}};
  const std::string text = CostKey(graph, SamplePlatform(), candidate, "1", 2 << 20).text;
  const WorkFeatures work = FeaturesOf(text, 123, 456);
  CHECK(work.style == "\"v\" elision 0 in float32:abcd out float32:aBcd16b");
  CHECK(work.operators == "Conv, Relu");
  const std::map<std::string_view, double> expected = {
      {"flops", 123},
      {"bytes", 456},
      {"input_bytes", 2 * 6 * 30 * 4},
      {"constant_bytes", 540 * 4},
      {"output_bytes", 1920},
      {"inner_bytes", 1920},
      {"input_batch", 2},
      {"input_channels", 6},
      {"input_space", 30},
      {"input_row", 6},
      {"output_batch", 2},
      {"output_channels", 20},
      {"output_space", 12},
      {"output_row", 4},
      {"kernel", 9},
      {"stride", 1},
      {"groups", 2},
      {"nodes", 2},
      {"reuse_kib", 2048},
      {"stored_bytes", 2 * 6 * 30 * 4 + 2 * 32 * 12 * 4}};  // 20 channels lie as 32
  CHECK(expected.size() == kWorkFeatureCount);
  for (size_t i = 0; i < kWorkFeatureCount; ++i) {
    const std::string_view name = WorkFeatureName(static_cast<WorkFeature>(i));
    CAPTURE(name);
    REQUIRE(expected.contains(name));
    CHECK(work[static_cast<WorkFeature>(i)] == expected.at(name));
  }
}

TEST_CASE("WorkFeatures, OfAReorderAndOfOtherKeys", "[cost]") {
  const std::vector<int64_t> dims = {1, 7, 3, 5};
  const Form from{RowMajor(4), DataType::kFloat32}, to{ChannelBlocked(4, 16), DataType::kInt8};
  const std::string text = ReorderKey(SamplePlatform(), UnitClassId(0u), dims, from, to, "reference 1").text;
  const WorkFeatures work = FeaturesOf(text, 0, 660);
  CHECK(work.style == "float32:abcd > int8:aBcd16b");
  CHECK(work.operators.empty());
  CHECK(work[WorkFeature::kInputBytes] == 420);
  CHECK(work[WorkFeature::kOutputBytes] == 105);
  CHECK(work[WorkFeature::kStoredBytes] == 420 + 240);
  CHECK(work[WorkFeature::kInputChannels] == 7);
  CHECK(work[WorkFeature::kOutputRow] == 5);
  const WorkFeatures other = FeaturesOf("whatever", 3, 4);
  CHECK(other.style.empty());
  CHECK(other[WorkFeature::kFlops] == 3);
  CHECK(other[WorkFeature::kBytes] == 4);
  CHECK(other[WorkFeature::kNodes] == 0);
}

TEST_CASE("WorkFeatures, AreAmountsWhateverTheProfileSays", "[cost]") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const WorkFeatures work =
      FeaturesOf("reorder [4000000000000000000,4000000000000000000,-1] | float32:abc | float32:acb | x", nan, infinity);
  for (const double value : work.values) {
    CHECK(value >= 0);
    CHECK(value <= 1e18);
  }
}

}  // namespace
}  // namespace pt::work_features_test
