// What a QuantizeLinear or DequantizeLinear says of its integers, and when it says nothing that can be relied on.
#include "partitiontuner/graph/linear_quantisation.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/graph_text.h"

namespace pt::linear_quantisation_test {
namespace {

// Of the last node of a graph with inputs x (uint8) and f (float32), both [2,3,4].
std::optional<LinearQuantisation> Said(const std::string& lines) {
  const Result<Graph> graph = ParseGraph(
      "input x uint8[2,3,4]\ninput f float32[2,3,4]\nconst s float32[] value 0.25\nconst z uint8[] value 7\n" + lines +
      "\noutput y\n");
  INFO((graph.ok() ? "" : ToString(graph.error())));
  REQUIRE(graph.ok());
  return LinearQuantisationOf(*graph, graph->nodes().back());
}

TEST_CASE("LinearQuantisation, OneForTheWholeTensor", "[graph]") {
  const auto said = Said("y = DequantizeLinear(x, s, z) : float32[2,3,4]");
  REQUIRE(said);
  CHECK(*said == LinearQuantisation{DataType::kUint8, LinearQuantisation::kWholeTensor, {0.25F}, {7}});
  CHECK(Said("y = QuantizeLinear(f, s, z) : uint8[2,3,4]") == said);
  CHECK(Said("y = DequantizeLinear(x, s) : float32[2,3,4]")->zero_points == std::vector<int64_t>{0});
  CHECK(Said("const t float32[1] value 0.25\ny = QuantizeLinear(f, t, z) axis=0 : uint8[2,3,4]") == said);
}

TEST_CASE("LinearQuantisation, OneForEachIndexOfAnAxis", "[graph]") {
  const auto said = Said(
      "const t float32[3] floats 1 2 3\nconst u uint8[3] ints 4 5 6\n"
      "y = DequantizeLinear(x, t, u) axis=-2 : float32[2,3,4]");
  REQUIRE(said);
  CHECK(*said == LinearQuantisation{DataType::kUint8, 1, {1, 2, 3}, {4, 5, 6}});
  // One zero point for all.
  CHECK(Said("const t float32[3] floats 1 2 3\ny = DequantizeLinear(x, t, z) : float32[2,3,4]")->zero_points ==
        std::vector<int64_t>{7, 7, 7});
}

TEST_CASE("LinearQuantisation, NothingWhereItIsNotAllKnownAndModerate", "[graph]") {
  for (const char* lines :
       {"input t float32[]\ny = DequantizeLinear(x, t, z) : float32[2,3,4]",                // known in the run
        "input u uint8[]\ny = DequantizeLinear(x, s, u) : float32[2,3,4]",                  //
        "const t float32[] value 0\ny = DequantizeLinear(x, t, z) : float32[2,3,4]",        // no scale
        "const t float32[] value -1\ny = DequantizeLinear(x, t, z) : float32[2,3,4]",       //
        "const t float32[] value 1e-30\ny = DequantizeLinear(x, t, z) : float32[2,3,4]",    // loses digits
        "const t float32[] value 1e30\ny = DequantizeLinear(x, t, z) : float32[2,3,4]",     //
        "const t float32[2] ones\ny = DequantizeLinear(x, t, z) axis=1 : float32[2,3,4]",   // another length
        "const t float32[3] ones\ny = DequantizeLinear(x, t, z) axis=7 : float32[2,3,4]",   // no such axis
        "const t float32[2,3,2] ones\ny = DequantizeLinear(x, t) axis=2 : float32[2,3,4]",  // by blocks
        "const u uint8[2] zeros\ny = DequantizeLinear(x, s, u) : float32[2,3,4]",           // two for one scale
        "y = QuantizeLinear(f, s, z) precision=10 : uint8[2,3,4]",                          // divided in float16
        "const t float16[] value 1\ny = DequantizeLinear(x, t, z) : float16[2,3,4]",        //
        "y = Relu(f) : float32[2,3,4]"}) {
    INFO(lines);
    CHECK_FALSE(Said(lines));
  }
}

TEST_CASE("RangeOf, IsThatOfEveryIntegerOfAtMost32Bits", "[graph]") {
  CHECK(RangeOf(DataType::kInt8)->low == -128);
  CHECK(RangeOf(DataType::kUint16)->high == 65535);
  CHECK(RangeOf(DataType::kUint2)->high == 3);
  CHECK(RangeOf(DataType::kInt32)->low == -2147483648.0);
  for (DataType type : {DataType::kInt64, DataType::kFloat32, DataType::kBool, DataType::kUint32})
    CHECK_FALSE(RangeOf(type));
}

}  // namespace
}  // namespace pt::linear_quantisation_test
