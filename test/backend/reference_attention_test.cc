// Attention and RotaryEmbedding at the places where texts and data of ONNX have differed.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"

namespace pt {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Result<std::vector<Tensor>> Evaluate(const std::string& text, const std::vector<Tensor>& inputs) {
  const Result<Graph> graph = ParseGraph(text);
  INFO((graph.ok() ? std::string() : ToString(graph.error())));
  REQUIRE(graph.ok());
  return EvaluateNode(*graph, NodeId(0u), inputs);
}

std::vector<float> Floats(const Result<std::vector<Tensor>>& results, size_t output = 0) {
  INFO((results.ok() ? std::string() : ToString(results.error())));
  REQUIRE(results.ok());
  const std::span<const float> values = (*results)[output].values<float>();
  return {values.begin(), values.end()};
}

TEST_CASE("Attention, NeighbouringQueryHeadsShareAKeyHead", "[backend]") {
  // One key a head: the result is that head's value. Four query heads on two.
  const auto y = Evaluate(
      "input q float32[1,4,1,1]\ninput k float32[1,2,1,1]\ninput v float32[1,2,1,1]\ny = Attention(q, k, v)\noutput "
      "y\n",
      {Tensor::Float32({1, 4, 1, 1}, {1, 1, 1, 1}), Tensor::Float32({1, 2, 1, 1}, {1, 1}),
       Tensor::Float32({1, 2, 1, 1}, {10, 20})});
  CHECK(Floats(y) == std::vector<float>{10, 10, 20, 20});
}

// Scores 1 and 3 with a mask of 5 and 0, in each mode; y is the second value's part.
TEST_CASE("Attention, TheCapComesBeforeTheMaskAndModesShowEachStage", "[backend]") {
  const double first = 2 * std::tanh(0.5), second = 2 * std::tanh(1.5), part = 1 / (1 + std::exp(first + 5 - second));
  const std::vector<std::vector<double>> stages = {{1, 3}, {first, second}, {first + 5, second}, {1 - part, part}};
  for (size_t mode = 0; mode < stages.size(); ++mode) {
    CAPTURE(mode);
    const auto results = Evaluate(
        "input q float32[1,1,1,1]\ninput k float32[1,1,2,1]\ninput v float32[1,1,2,1]\ninput m float32[1,2]\n"
        "y, a, b, qk = Attention(q, k, v, m) softcap=2.0 scale=1.0 qk_matmul_output_mode=" +
            std::to_string(mode) + "\noutput y\noutput qk\n",
        {Tensor::Float32({1, 1, 1, 1}, {1}), Tensor::Float32({1, 1, 2, 1}, {1, 3}),
         Tensor::Float32({1, 1, 2, 1}, {0, 1}), Tensor::Float32({1, 2}, {5, 0})});
    CHECK(Floats(results)[0] == Catch::Approx(part));
    const std::vector<float> shown = Floats(results, 3);
    for (size_t j = 0; j < 2; ++j) CHECK(shown[j] == Catch::Approx(stages[mode][j]));
  }
}

TEST_CASE("Attention, CausalQueriesStandBehindThePast", "[backend]") {
  // Equal scores: y is the mean of the values that are seen.
  const auto results = Evaluate(
      "input q float32[1,1,2,1]\ninput k float32[1,1,2,1]\ninput v float32[1,1,2,1]\ninput pk float32[1,1,1,1]\n"
      "input pv float32[1,1,1,1]\ny, a, b = Attention(q, k, v, _, pk, pv) is_causal=1\noutput y\noutput a\noutput b\n",
      {Tensor::Float32({1, 1, 2, 1}, {0, 0}), Tensor::Float32({1, 1, 2, 1}, {1, 2}),
       Tensor::Float32({1, 1, 2, 1}, {4, 9}), Tensor(), Tensor::Float32({1, 1, 1, 1}, {7}),
       Tensor::Float32({1, 1, 1, 1}, {2})});
  CHECK(Floats(results) == std::vector<float>{3, 5});
  CHECK(Floats(results, 1) == std::vector<float>{7, 1, 2});
  CHECK(Floats(results, 2) == std::vector<float>{2, 4, 9});
}

TEST_CASE("Attention, CausalWithoutACacheIsTheLowerTriangle", "[backend]") {
  const auto y = Evaluate(
      "input q float32[1,1,2,1]\ninput k float32[1,1,3,1]\ninput v float32[1,1,3,1]\n"
      "y = Attention(q, k, v) is_causal=1\noutput y\n",
      {Tensor::Float32({1, 1, 2, 1}, {0, 0}), Tensor::Float32({1, 1, 3, 1}, {1, 2, 3}),
       Tensor::Float32({1, 1, 3, 1}, {4, 8, 1000})});
  CHECK(Floats(y) == std::vector<float>{4, 6});
}

TEST_CASE("Attention, LengthsOfEntriesMoveTheDiagonalAndMustFit", "[backend]") {
  const auto run = [](int64_t first, int64_t second) {
    return Evaluate(
        "input q float32[2,1,2,1]\ninput k float32[2,1,3,1]\ninput v float32[2,1,3,1]\ninput n int64[2]\n"
        "y = Attention(q, k, v, _, _, _, n) is_causal=1\noutput y\n",
        {Tensor::Float32({2, 1, 2, 1}, {0, 0, 0, 0}), Tensor::Float32({2, 1, 3, 1}, {1, 2, 3, 1, 2, 3}),
         Tensor::Float32({2, 1, 3, 1}, {3, 6, 9, 3, 6, 9}), Tensor(), Tensor(), Tensor(),
         Tensor::Int64({2}, {first, second})});
  };
  // Of three keys the queries are the last two; of one key the first query sees none.
  CHECK(Floats(run(3, 1)) == std::vector<float>{4.5F, 6, 0, 3});
  for (const int64_t wrong : {int64_t{-1}, int64_t{4}}) {
    const auto results = run(3, wrong);
    REQUIRE_FALSE(results.ok());
    CHECK(results.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("Attention, RowsThatSeeNothingAreZeroWhateverTheKeysHold", "[backend]") {
  const auto y = [](const std::vector<float>& mask) {
    return Floats(
        Evaluate("input q float32[1,1,1,1]\ninput k float32[1,1,2,1]\ninput v float32[1,1,2,1]\ninput m float32[1,2]\n"
                 "y = Attention(q, k, v, m)\noutput y\n",
                 {Tensor::Float32({1, 1, 1, 1}, {1}), Tensor::Float32({1, 1, 2, 1}, {kInfinity, 1}),
                  Tensor::Float32({1, 1, 2, 1}, {1, 2}), Tensor::Float32({1, 2}, mask)}))[0];
  };
  CHECK(y({-kInfinity, -kInfinity}) == 0);
  CHECK(std::isnan(y({-kInfinity, 0})));  // infinity less infinity, as the definition's arithmetic has it
}

TEST_CASE("RotaryEmbedding, OfWiderCachesTheLeadingPartCounts", "[backend]") {
  // A quarter turn of the first two of four elements; the caches hold angles for all four.
  const std::string inputs = "input x float32[1,1,1,4]\n";
  const Tensor x = Tensor::Float32({1, 1, 1, 4}, {1, 2, 3, 4});
  for (const int64_t width : {1, 2}) {
    CAPTURE(width);
    const std::string dims = "float32[1,1," + std::to_string(width) + "]\n";
    std::vector<float> cosines(static_cast<size_t>(width), 5), sines(static_cast<size_t>(width), 5);
    cosines[0] = 0;
    sines[0] = 1;
    const auto y = Evaluate(inputs + "input c " + dims + "input s " + dims +
                                "y = RotaryEmbedding(x, c, s) rotary_embedding_dim=2\noutput y\n",
                            {x, Tensor::Float32({1, 1, width}, cosines), Tensor::Float32({1, 1, width}, sines)});
    CHECK(Floats(y) == std::vector<float>{-2, 1, 3, 4});
  }
}

}  // namespace
}  // namespace pt
