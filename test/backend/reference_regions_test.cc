// MaxRoiPool against ONNX Runtime's numbers, EyeLike of every type.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "partitiontuner/onnx/infer_shapes.h"
#include "test/backend/node_results.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/run_candidate.h"

namespace pt::testing::reference_regions_test {
namespace {

Tensor Image() {
  std::vector<float> pixels;
  for (int i = 0; i < 2 * 2 * 4 * 5; ++i) pixels.push_back(static_cast<float>(i * 37 % 83 - 40));
  return Tensor::Float32({2, 2, 4, 5}, pixels);
}

std::string PoolText(const std::string& type, const std::string& regions) {
  return "input x " + type + "[2,2,4,5]\ninput r " + type + "[" + regions +
         ",5]\ny = MaxRoiPool(x, r) pooled_shape=[2,3] spatial_scale=0.5\noutput y\n";
}

}  // namespace

// Regions within the image, beyond it, upside down, outside it and between pixels.
TEST_CASE("MaxRoiPool, RegionsAreThoseOfOnnxRuntime", "[backend]") {
  const Tensor regions = Tensor::Float32({6, 5}, {0, 0,    0,    4, 3, 1, 1, 1, 3, 2, 1, -2,   -1,   9,    7,
                                                  0, 3.5F, 1.5F, 2, 0, 1, 6, 5, 8, 9, 0, 0.4F, 2.6F, 1.2F, 3.4F});
  const auto results = Evaluate(PoolText("float32", "6"), {Image(), regions});
  if (!results.ok()) FAIL(ToString(results.error()));
  const Tensor expected = Tensor::Float32(
      {6, 2, 2, 3},
      {-21, 16, 34,  -2, 35, -11, 36, 9,  27,  -9, 28, -18, 2,   39,  39,  2,   39,  39,  -5,  32,  32,  -5,  32,  32,
       29,  39, 30,  40, 40, 31,  41, 32, 23,  33, 33, 42,  -30, -30, -30, -30, -30, -30, -37, -37, -37, -37, -37, -37,
       31,  31, -15, 0,  0,  0,   24, 24, -22, 0,  0,  0,   -21, 16,  16,  -2,  35,  35,  -28, 9,   9,   -9,  28,  28});
  CHECK(Difference((*results)[0], expected, 0) == "");
}

TEST_CASE("MaxRoiPool, OfAnEntryThatDoesNotExistIsRefused", "[backend]") {
  for (const float entry : {-1.0F, 2.0F, std::nanf("")}) {
    CAPTURE(entry);
    const auto results = Evaluate(PoolText("float32", "1"), {Image(), Tensor::Float32({1, 5}, {entry, 0, 0, 1, 1})});
    REQUIRE_FALSE(results.ok());
    CHECK(results.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("EyeLike, MakesEveryType", "[backend]") {
  const std::vector<std::string> types = {"float16", "bfloat16",     "float32",    "float64", "int8",   "int16",
                                          "int32",   "int64",        "uint8",      "uint16",  "uint32", "uint64",
                                          "bool",    "float8e4m3fn", "float8e5m2", "int4",    "uint4"};
  const Tensor expected = Tensor::Float32({3, 4}, {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  for (const std::string& type : types) {
    CAPTURE(type);
    const std::optional<DataType> number = DataTypeFromName(type);
    REQUIRE(number);
    const std::string to = std::to_string(static_cast<int>(*number));
    for (const std::string& text :
         {"input x float32[3,4]\ne = EyeLike(x) k=1 dtype=" + to + "\ny = Cast(e) to=1\noutput y\n",
          "input x float32[3,4]\nw = Cast(x) to=" + to + "\ne = EyeLike(w) k=1\ny = Cast(e) to=1\noutput y\n"}) {
      const Graph graph = InferShapes(ParseGraph(text).value()).value();
      const Tensor x = Tensor::Float32({3, 4}, std::vector<float>(12, 1));
      const auto values = EvaluateGraph(graph, {&x, 1});
      if (!values.ok()) FAIL(ToString(values.error()));
      CHECK(Difference(OutputsOf(graph, *values)[0], expected, 0) == "");
    }
  }
}

}  // namespace pt::testing::reference_regions_test
