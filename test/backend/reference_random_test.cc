// What is drawn at random: the generator's numbers (those of numpy's RandomState), seeds, and what is refused.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numeric>

#include "test/backend/node_results.h"

namespace pt::reference_random_test {
namespace {

using testing::Evaluate;
using testing::Floats;
using testing::IsInvalid;

TEST_CASE("RandomUniform, DrawsTheNumbersOfMt19937", "[backend]") {
  const auto y = Floats(Evaluate("y = RandomUniform() shape=[3] seed=0.0\noutput y\n"));
  CHECK(y[0] == Catch::Approx(0.5488135039273248));
  CHECK(y[1] == Catch::Approx(0.7151893663724195));
  CHECK(y[2] == Catch::Approx(0.6027633760716439));
  const auto z = Floats(Evaluate("y = RandomUniform() shape=[3] seed=0.0 low=-2.0 high=2.0\noutput y\n"));
  for (size_t i = 0; i < 3; ++i) CHECK(z[i] == Catch::Approx(4 * y[i] - 2));
}

TEST_CASE("RandomNormal, DrawsPairsByThePolarMethod", "[backend]") {
  const auto y = Floats(Evaluate("y = RandomNormal() shape=[1,3] seed=0.0\noutput y\n"));
  CHECK(y[0] == Catch::Approx(1.764052345967664));
  CHECK(y[1] == Catch::Approx(0.4001572083672233));
  CHECK(y[2] == Catch::Approx(0.9787379841057392));
}

TEST_CASE("Random, SeedsDecideAndMissingOnesAreFixedByThePlaceInTheFile", "[backend]") {
  const auto draw = [](const std::string& attributes) {
    return Floats(Evaluate("y = RandomUniform() shape=[4] " + attributes + "\noutput y\n"));
  };
  CHECK(draw("seed=1.0") != draw("seed=2.0"));
  CHECK(draw("seed=1.0") == draw("seed=1.9"));
  CHECK(draw("") == draw(""));
  CHECK(IsInvalid(Evaluate("y = RandomUniform() shape=[4] seed=1e30\noutput y\n")));
  CHECK(IsInvalid(Evaluate("y = RandomUniform() shape=[4,-1]\noutput y\n")));
  // Two nodes of one graph draw different numbers.
  const Graph graph =
      ParseGraph("y = RandomUniform() shape=[4]\nz = RandomUniform() shape=[4]\noutput y\noutput z\n").value();
  CHECK(Floats(EvaluateNode(graph, NodeId(0u), {})) != Floats(EvaluateNode(graph, NodeId(1u), {})));
}

TEST_CASE("RandomLike, TakesDimsAndTypeFromItsInput", "[backend]") {
  const Tensor x = Tensor::Of<double>(DataType::kFloat64, {2, 0}, {});
  const auto same = Evaluate("input x float64[2,0]\ny = RandomNormalLike(x)\noutput y\n", {x});
  REQUIRE(same.ok());
  CHECK((*same)[0].type() == DataType::kFloat64);
  CHECK((*same)[0].dims() == std::vector<int64_t>{2, 0});
  const Tensor i = Tensor::Int64({3}, {1, 2, 3});
  const auto half = Evaluate("input x int64[3]\ny = RandomUniformLike(x) dtype=10\noutput y\n", {i});
  REQUIRE(half.ok());
  CHECK((*half)[0].type() == DataType::kFloat16);
  CHECK_FALSE(Evaluate("input x int64[3]\ny = RandomUniformLike(x)\noutput y\n", {i}).ok());
}

TEST_CASE("Bernoulli, ProbabilitiesOfZeroAndOneAreCertain", "[backend]") {
  const auto y =
      Floats(Evaluate("input x float32[4]\ny = Bernoulli(x)\noutput y\n", {Tensor::Float32({4}, {0, 1, 1, 0})}));
  CHECK(y == std::vector<float>{0, 1, 1, 0});
  const auto many = Evaluate("input x float32[2000]\ny = Bernoulli(x) seed=3.0 dtype=9\noutput y\n",
                             {Tensor::Float32({2000}, std::vector<float>(2000, 0.25F))});
  REQUIRE(many.ok());
  const std::vector<int64_t> ones = (*many)[0].ToInts();
  const int64_t sum = std::accumulate(ones.begin(), ones.end(), int64_t{0});
  CHECK((sum > 420 && sum < 580));  // four standard deviations
  for (const float wrong : {-0.1F, 1.1F, std::nanf("")}) {
    CHECK(IsInvalid(Evaluate("input x float32[1]\ny = Bernoulli(x)\noutput y\n", {Tensor::Float32({1}, {wrong})})));
  }
}

TEST_CASE("Multinomial, DrawsByTheirProbabilitiesAndNeverTheImpossible", "[backend]") {
  const auto results =
      Evaluate("input x float32[2,3]\ny = Multinomial(x) sample_size=1000 seed=5.0 dtype=7\noutput y\n",
               {Tensor::Float32({2, 3}, {-HUGE_VALF, 0, -HUGE_VALF, 0, -HUGE_VALF, std::log(3.0F)})});
  REQUIRE(results.ok());
  const std::vector<int64_t> drawn = (*results)[0].ToInts();
  CHECK(std::count(drawn.begin(), drawn.begin() + 1000, 1) == 1000);
  const auto twos = std::count(drawn.begin() + 1000, drawn.end(), 2);
  CHECK(std::count(drawn.begin() + 1000, drawn.end(), 1) == 0);
  CHECK((twos > 690 && twos < 810));
  const auto of = [](std::vector<float> row) {
    const auto classes = static_cast<int64_t>(row.size());
    return Evaluate("input x float32[1," + std::to_string(classes) + "]\ny = Multinomial(x)\noutput y\n",
                    {Tensor::Float32({1, classes}, row)});
  };
  CHECK(of({1}).ok());
  CHECK(IsInvalid(of({})));
  CHECK(IsInvalid(of({-HUGE_VALF, -HUGE_VALF})));
  CHECK(IsInvalid(of({std::nanf(""), 1})));
  CHECK(IsInvalid(of({HUGE_VALF, 1})));
}

TEST_CASE("Dropout, TrainingScalesWhatItKeepsAndSaysWhatThatWas", "[backend]") {
  const Tensor x = Tensor::Float32({100}, std::vector<float>(100, 3.0F));
  const auto truth = [](bool set) {
    return Tensor::FromBytes(DataType::kBool, {}, std::string(1, set ? 1 : 0)).value();
  };
  const auto run = [&](float ratio, bool training) {
    return Evaluate(
        "input x float32[100]\ninput r float32[]\ninput t bool[]\n"
        "y, mask = Dropout(x, r, t) seed=7\noutput y\noutput mask\n",
        {x, Tensor::Float32({}, {ratio}), truth(training)});
  };
  const auto results = run(0.75F, true);
  const std::vector<float> y = Floats(results);
  const std::vector<int64_t> mask = (*results)[1].ToInts();
  for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == (mask[i] != 0 ? 12.0F : 0.0F));
  const auto kept = std::count(mask.begin(), mask.end(), 1);
  CHECK((kept > 5 && kept < 50));
  for (const auto& certain : {run(0.0F, true), run(0.75F, false)}) {
    CHECK(Floats(certain) == std::vector<float>(100, 3.0F));
    CHECK((*certain)[1].ToInts() == std::vector<int64_t>(100, 1));
  }
  CHECK(IsInvalid(run(1.0F, true)));
  CHECK(IsInvalid(run(std::nanf(""), true)));
}

}  // namespace
}  // namespace pt::reference_random_test
