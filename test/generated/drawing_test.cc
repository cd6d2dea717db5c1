// What the test of drawn graphs stands on: they repeat, are compared where comparing means something, wrong results are
// noticed, and what fails becomes small.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/generated/case_lines.h"
#include "test/testing/generated/draw_graph.h"
#include "test/testing/generated/graph_check.h"
#include "test/testing/generated/noise.h"
#include "test/testing/generated/prepared_case.h"
#include "test/testing/generated/shrink.h"
#include "test/testing/generated/unsizing.h"

namespace pt::testing::drawing_test {
namespace {

// Of the value of that name, whether rounding leaves it as it is.
bool IsSteady(const std::string& text, const std::string& name, MathMode math = MathMode::kFp32) {
  const DrawnCase drawn = ReadCase(text).value();
  const std::vector<Tensor> values = EvaluateGraph(drawn.graph, drawn.inputs).value();
  return SteadyValues(drawn.graph, drawn.inputs, values, math).value()[drawn.graph.find_value(name).index()];
}

}  // namespace

TEST_CASE("DrawGraph, FollowsFromItsSeed", "[generated]") {
  CHECK(DrawGraph(7).text == DrawGraph(7).text);
  CHECK(DrawGraph(7).text != DrawGraph(8).text);
}

TEST_CASE("SteadyValues, LeaveOutWhatRoundingMoves", "[generated]") {
  const std::string cancelled =
      "input x1 float32[64]\nconst c2 float32[] value 1000\nv3 = Exp(x1)\nv4 = Add(v3, c2)\nv5 = Sub(v4, c2)\n"
      "v6 = Sub(v5, v3)\noutput v4\noutput v6\n";
  CHECK(IsSteady(cancelled, "v4"));
  CHECK_FALSE(IsSteady(cancelled, "v6"));
  // At the edge of a step, and away from it.
  const std::string steps =
      "input x1 float32[64]\nconst c2 float32[] value 0.5\nv3 = Sub(x1, x1)\nv4 = Exp(v3)\nv5 = Floor(v4)\n"
      "v6 = Add(v4, c2)\nv7 = Floor(v6)\noutput v5\noutput v7\n";
  CHECK_FALSE(IsSteady(steps, "v5"));
  CHECK(IsSteady(steps, "v7"));
  // Zeros that a Relu makes are zeros for everybody, so that equal ones stay in their order.
  CHECK(IsSteady("input x1 float32[64]\nv2 = Relu(x1)\nv3 = ArgMin(v2)\noutput v3\n", "v3"));
  CHECK(IsSteady("input x1 float32[4,64]\nv2 = ReduceSum(x1)\nv3 = Ceil(v2)\noutput v3\n", "v3"));
  CHECK_FALSE(IsSteady("input x1 float32[400]\nv2 = Exp(x1)\nv3 = Mul(v2, x1)\nv4 = Floor(v3)\noutput v4\n", "v4",
                       MathMode::kBf16));
}

TEST_CASE("GraphCheck, NoticesAWrongOutput", "[generated]") {
  const std::string text =
      "input x1 float32[2,3]\nconst c2 float32[3,5] random 2\nv3 = MatMul(x1, c2)\nv4 = Relu(v3)\nv5 = ArgMax(v3)\n"
      "output v4\noutput v5\n";
  GraphCheck check;
  Setting setting;
  setting.planner = "search";
  const PreparedCase right = Prepare(text).value();
  CHECK(check.WhyWrong(right, setting) == "");
  PreparedCase wrong = right;
  std::vector<float> numbers(right.expected[0].values<float>().begin(), right.expected[0].values<float>().end());
  numbers[3] += 0.01F;
  wrong.expected[0] = Tensor::Float32({2, 5}, numbers);
  CHECK(check.WhyWrong(wrong, setting).starts_with("output: v4 element 3 "));
  wrong = right;
  std::vector<int64_t> places = right.expected[1].ToInts();
  places[2] = 1 - places[2];
  wrong.expected[1] = Tensor::Int64({1, 5}, places);
  CHECK(check.WhyWrong(wrong, setting).starts_with("output: v5 element 2 "));
}

TEST_CASE("UnsizeAtRandom, LeavesTheNumbersAndHidesASize", "[generated]") {
  const PreparedCase prepared = Prepare("input x1 float32[3,5]\nv2 = Relu(x1)\nv3 = Tanh(v2)\noutput v3\n").value();
  GraphCheck check;
  int hidden = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const Graph graph = InferShapes(UnsizeAtRandom(prepared.drawn.graph, seed).value()).value();
    hidden += !graph.value(graph.outputs()[0]).type.is_static();
    Setting setting;
    setting.planner = "search";
    setting.unsized = true;
    setting.cost_seed = seed;
    CHECK(check.WhyWrong(prepared, setting) == "");
  }
  CHECK(hidden >= 30);  // a Where tells the size of what it broadcasts with
}

TEST_CASE("Shrink, LeavesWhatFailsAlone", "[generated]") {
  const std::string text =
      "input x1 float32[5,7]\ninput x2 float32[7]\nconst c3 float32[7,9] random 3\nv4 = Add(x1, x2)\n"
      "v5 = Elu(v4) alpha=0.5\nv6 = MatMul(v5, c3)\nv7 = Tanh(v6)\nv8 = Neg(v7)\nv9 = ReduceSum(v5) keepdims=0\n"
      "output v8\noutput v9\noutput v4\n";
  const auto fails = [](const std::string& smaller) {
    return ReadCase(smaller).ok() && smaller.find(" = Tanh(") != std::string::npos;
  };
  CHECK(Shrink(text, fails) == "input v6 float32[1,1]\nv7 = Tanh(v6)\noutput v7\n");
  // What fails only beside something else keeps that.
  const auto needs_both = [&](const std::string& smaller) {
    return fails(smaller) && smaller.find("alpha=0.5") != std::string::npos;
  };
  const std::vector<Line> lines = LinesOf(Shrink(text, needs_both));
  CHECK(std::ranges::count(lines, Line::Kind::kNode, &Line::kind) <= 3);
}

}  // namespace pt::testing::drawing_test
