#include "partitiontuner/graph/index_inputs.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/graph_text.h"

namespace pt::index_inputs_test {
namespace {

std::optional<int64_t> MostOf(const char* text, uint32_t input) {
  const Graph graph = ParseGraph(text).value();
  return MostIndex(graph, graph.nodes()[0], input);
}

TEST_CASE("MostIndex, IsTheLastPositionOfTheAxisMeant", "[graph]") {
  const char* gather = "input x float32[5,7]\ninput i int64[2]\ny = Gather(x, i) axis=-1\noutput y\n";
  CHECK(MostOf(gather, 1) == 6);
  CHECK(MostOf(gather, 0) == std::nullopt);
  CHECK(MostOf("input x float32[5,7]\ninput i int64[2]\ny = Gather(x, i)\noutput y\n", 1) == 4);
  CHECK(MostOf("input x float32[5,7]\ninput i int64[3,2]\ny = GatherND(x, i)\noutput y\n", 1) == 4);
  CHECK(MostOf("input x float32[5,7]\ninput i int64[5]\ny = NegativeLogLikelihoodLoss(x, i)\noutput y\n", 1) == 6);
  CHECK(MostOf("input x float32[2,3,8,8]\ninput r float32[4,4]\ninput i int64[4]\ny = RoiAlign(x, r, i)\noutput y\n",
               2) == 1);
  CHECK(MostOf("input x float32[0,7]\ninput i int64[2]\ny = Gather(x, i)\noutput y\n", 1) == -1);
}

TEST_CASE("MostIndex, OfLengthsIsTheWholeSequence", "[graph]") {
  const std::string weights = "const w float32[1,8,4] ones\nconst r float32[1,8,2] ones\ninput l int32[3]\n";
  CHECK(MostOf(("input x float32[7,3,4]\n" + weights + "y = LSTM(x, w, r, _, l) hidden_size=2\noutput y\n").c_str(),
               4) == 7);
  CHECK(
      MostOf(
          ("input x float32[3,9,4]\n" + weights + "y = LSTM(x, w, r, _, l) hidden_size=2 layout=1\noutput y\n").c_str(),
          4) == 9);
}

TEST_CASE("MostIndex, IsUnknownWhereDimsAreOrNothingIsIndexed", "[graph]") {
  CHECK(MostOf("input x float32[?,7]\ninput i int64[2]\ny = Gather(x, i)\noutput y\n", 1) == std::nullopt);
  CHECK(MostOf("input x float32[?,7]\ninput i int64[3,2]\ny = GatherND(x, i)\noutput y\n", 1) == std::nullopt);
  CHECK(MostOf("input x float32[4,7]\ninput i int64[2]\ny = Gather(x, i) axis=2\noutput y\n", 1) == std::nullopt);
  CHECK(MostOf("input x int64[4]\ninput i int64[4]\ny = Add(x, i)\noutput y\n", 1) == std::nullopt);
}

}  // namespace
}  // namespace pt::index_inputs_test
