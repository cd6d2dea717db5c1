// Hand-worked cases of operators of the reference library, by family. The published node tests cover the rest.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"

namespace pt {
namespace {

// The result of the text's first node on one input.
std::vector<float> Evaluate(std::string_view text, const Tensor& input) {
  const Graph graph = ParseGraph(text).value();
  auto results = EvaluateNode(graph, NodeId(0u), {{input}});
  INFO((results.ok() ? std::string() : ToString(results.error())));
  REQUIRE(results.ok());
  const std::span<const float> values = (*results)[0].values<float>();
  return {values.begin(), values.end()};
}

TEST_CASE("Mish, IsInputTimesTanhOfSoftplus", "[backend]") {
  const auto y = Evaluate("input x float32[5]\ny = Mish(x) : float32[5]\noutput y\n",
                          Tensor::Float32({5}, {-1000, -1, 0, 1, 1000}));
  CHECK(y[0] == Catch::Approx(0).margin(1e-30));
  CHECK(y[1] == Catch::Approx(-0.303401F));
  CHECK(y[2] == 0);
  CHECK(y[3] == Catch::Approx(0.865098F));
  CHECK(y[4] == 1000);
}

TEST_CASE("Hardmax, MarksTheFirstGreatestAlongTheAxis", "[backend]") {
  const Tensor x = Tensor::Float32({2, 3}, {1, 5, 5, -2, -3, -1});
  CHECK(Evaluate("input x float32[2,3]\ny = Hardmax(x) axis=1 : float32[2,3]\noutput y\n", x) ==
        std::vector<float>{0, 1, 0, 0, 0, 1});
  CHECK(Evaluate("input x float32[2,3]\ny = Hardmax(x) axis=0 : float32[2,3]\noutput y\n", x) ==
        std::vector<float>{1, 1, 1, 0, 0, 0});
}

}  // namespace
}  // namespace pt
