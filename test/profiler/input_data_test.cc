#include "lib/profiler/input_data.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "partitiontuner/graph/graph_builder.h"

namespace pt::input_data_test {
namespace {

template <typename T>
std::vector<T> Filled(DataType type, ValueRange range, size_t count) {
  std::vector<T> values(count);
  FillInput(type, range, 1, std::as_writable_bytes(std::span(values)));
  return values;
}

TEST_CASE("InputData, FloatsAreOrdinaryNumbers", "[profiler]") {
  bool negative = false;
  for (const float value : Filled<float>(DataType::kFloat32, {}, 10'000)) {
    REQUIRE(std::isnormal(value));
    REQUIRE(std::abs(value) <= 1.0F);
    negative |= value < 0;
  }
  CHECK(negative);
  for (const double value : Filled<double>(DataType::kFloat64, {}, 100)) REQUIRE(std::isnormal(value));
  for (const uint16_t bits : Filled<uint16_t>(DataType::kFloat16, {}, 5000)) {
    const int exponent = (bits >> 10) & 31;
    REQUIRE((exponent > 0 && exponent < 16));
  }
  CHECK(Filled<float>(DataType::kFloat32, {}, 64) == Filled<float>(DataType::kFloat32, {}, 64));
}

TEST_CASE("InputData, IntegersStayInTheirRange", "[profiler]") {
  bool least = false, most = false;
  for (const int64_t value : Filled<int64_t>(DataType::kInt64, {0, 6}, 10'000)) {
    REQUIRE((value >= 0 && value <= 6));
    least |= value == 0;
    most |= value == 6;
  }
  CHECK((least && most));
  for (const uint8_t value : Filled<uint8_t>(DataType::kBool, {}, 1000)) REQUIRE(value <= 1);
}

TEST_CASE("InputData, GatherIndicesPointIntoTheirAxis", "[profiler]") {
  GraphBuilder builder;
  const ValueId x = builder.AddInput("x", StaticType(DataType::kFloat32, {5, 9, 2}));
  const ValueId i = builder.AddInput("i", StaticType(DataType::kInt64, {4}));
  const ValueId j = builder.AddInput("j", StaticType(DataType::kInt64, {5, 2, 2}));
  const ValueId a = builder.AddOp("Gather", {x, i}, StaticType(DataType::kFloat32, {5, 4, 2}), {{"axis", int64_t{1}}});
  const ValueId b =
      builder.AddOp("GatherElements", {x, j}, StaticType(DataType::kFloat32, {5, 2, 2}), {{"axis", int64_t{-1}}});
  const ValueId c = builder.AddOp("Div", {i, i}, StaticType(DataType::kInt64, {4}));
  for (ValueId id : {a, b, c}) builder.AddOutput(id);
  const Graph graph = builder.Build().value();
  const auto node_of = [&](ValueId id) { return std::vector{graph.value(id).producer}; };
  CHECK(RangeOf(graph, node_of(a), i) == ValueRange{0, 8});
  CHECK(RangeOf(graph, node_of(b), j) == ValueRange{0, 1});
  CHECK(RangeOf(graph, node_of(c), i) == ValueRange{1, 2});  // a divisor is never zero
}

}  // namespace
}  // namespace pt::input_data_test
