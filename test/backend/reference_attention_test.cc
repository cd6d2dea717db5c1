// Attention and RotaryEmbedding at the places where texts and data of ONNX have differed, and what goes on from a
// state.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"

namespace pt::reference_attention_test {
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

// ---- LinearAttention and CausalConvWithState, of opset 27 ----

Tensor Drawn(std::mt19937& random, std::vector<int64_t> dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random);
  return Tensor::Float32(std::move(dims), values);
}

// The elements [begin, end) of the axis.
Tensor Part(const Tensor& x, size_t axis, int64_t begin, int64_t end) {
  std::vector<int64_t> dims = x.dims();
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < dims.size(); ++d) (d < axis ? outer : inner) *= d == axis ? 1 : dims[d];
  std::vector<float> values;
  for (int64_t o = 0; o < outer; ++o) {
    const auto first = x.values<float>().begin() + (o * dims[axis] + begin) * inner;
    values.insert(values.end(), first, first + (end - begin) * inner);
  }
  dims[axis] = end - begin;
  return Tensor::Float32(dims, values);
}

std::string InputOf(const std::string& name, const Tensor& x) {
  std::string dims;
  for (const int64_t dim : x.dims()) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  return "input " + name + " float32[" + dims + "]\n";
}

// Inputs q, k, v, s, g, b; those without a name are absent.
Result<std::vector<Tensor>> LinearOf(const std::string& attributes, const std::map<std::string, Tensor>& given) {
  std::string text = "opset 27\n", operands;
  std::vector<Tensor> inputs;
  for (const std::string name : {"q", "k", "v", "s", "g", "b"}) {
    const auto at = given.find(name);
    operands += (operands.empty() ? "" : ", ") + (at == given.end() ? std::string("_") : name);
    inputs.push_back(at == given.end() ? Tensor() : at->second);
    if (at != given.end()) text += InputOf(name, at->second);
  }
  return Evaluate(text + "y, state = LinearAttention(" + operands + ") " + attributes + "\noutput y\noutput state\n",
                  inputs);
}

TEST_CASE("LinearAttention, TokensOneByOneGiveWhatTheyGiveAtOnce", "[backend]") {
  const uint32_t seed = 17;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const std::string rule : {"linear", "gated", "delta", "gated_delta"}) {
    for (const bool per_element : {false, true}) {
      CAPTURE(rule, per_element);
      constexpr int64_t kTokens = 3;
      std::map<std::string, Tensor> all = {{"q", Drawn(random, {2, kTokens, 4 * 3})},
                                           {"k", Drawn(random, {2, kTokens, 2 * 3})},
                                           {"v", Drawn(random, {2, kTokens, 2 * 5})},
                                           {"s", Drawn(random, {2, 2, 3, 5})}};
      if (rule.starts_with("gated")) all.emplace("g", Drawn(random, {2, kTokens, per_element ? 6 : 2}));
      if (rule.ends_with("delta")) all.emplace("b", Drawn(random, {2, kTokens, per_element ? 2 : 1}));
      const std::string attributes = "q_num_heads=4 kv_num_heads=2 update_rule=\"" + rule + "\"";
      const auto whole = LinearOf(attributes, all);
      const std::vector<float> expected = Floats(whole), last = Floats(whole, 1);
      Tensor state = all.at("s");
      for (int64_t t = 0; t < kTokens; ++t) {
        std::map<std::string, Tensor> one = {{"s", state}};
        for (const auto& [name, x] : all) {
          if (name != "s") one.emplace(name, Part(x, 1, t, t + 1));
        }
        const auto step = LinearOf(attributes, one);
        const std::vector<float> y = Floats(step), wanted = Floats({{Part((*whole)[0], 1, t, t + 1)}});
        for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == Catch::Approx(wanted[i]).margin(1e-6));
        state = (*step)[1];
      }
      for (size_t i = 0; i < last.size(); ++i) CHECK(state.values<float>()[i] == Catch::Approx(last[i]).margin(1e-6));
    }
  }
}

TEST_CASE("LinearAttention, RefusesWhatItsRuleDoesNotTake", "[backend]") {
  std::mt19937 random(1);
  const Tensor x = Drawn(random, {1, 2, 4}), gate = Drawn(random, {1, 2, 2});
  const auto refused = [&](const std::string& attributes, std::map<std::string, Tensor> more) {
    more.insert({{"q", x}, {"k", x}, {"v", x}});
    const auto results = LinearOf(attributes, more);
    return !results.ok() && results.error().code == ErrorCode::kInvalidInput;
  };
  const std::string heads = "q_num_heads=2 kv_num_heads=2 ";
  CHECK_FALSE(refused(heads + "update_rule=\"linear\"", {}));
  CHECK(refused(heads + "update_rule=\"linear\"", {{"g", gate}}));
  CHECK(refused(heads + "update_rule=\"gated\"", {}));
  CHECK(refused(heads, {{"g", gate}}));  // gated_delta wants a beta too
  CHECK(refused(heads + "update_rule=\"softmax\"", {}));
  CHECK(refused(heads + "update_rule=\"gated\"", {{"g", x.dims()[2] == 4 ? Drawn(random, {1, 2, 3}) : gate}}));
  CHECK(refused("q_num_heads=3 kv_num_heads=2 update_rule=\"linear\"", {}));
  CHECK(refused("q_num_heads=0 kv_num_heads=0 update_rule=\"linear\"", {}));
  CHECK(refused(heads + "update_rule=\"linear\"", {{"s", Drawn(random, {1, 2, 2, 3})}}));
}

TEST_CASE("CausalConvWithState, PartsOfARowGiveWhatItGivesAtOnce", "[backend]") {
  const uint32_t seed = 23;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const int64_t taps : {1, 2, 4}) {
    for (const std::string activation : {"none", "silu"}) {
      CAPTURE(taps, activation);
      const Tensor x = Drawn(random, {2, 3, 7}), w = Drawn(random, {3, 1, taps}), b = Drawn(random, {3});
      const auto run = [&](const Tensor& row, const Tensor& past) {
        return Evaluate("opset 27\n" + InputOf("x", row) + InputOf("w", w) + InputOf("b", b) + InputOf("p", past) +
                            "y, state = CausalConvWithState(x, w, b, p) activation=\"" + activation +
                            "\"\noutput y\noutput state\n",
                        {row, w, b, past});
      };
      const Tensor none = Tensor::Float32({2, 3, taps - 1}, std::vector<float>(static_cast<size_t>(6 * (taps - 1))));
      const auto whole = run(x, none);
      // Two elements are fewer than the state of four taps holds.
      const auto head = run(Part(x, 2, 0, 2), none);
      Floats(head);
      const auto tail = run(Part(x, 2, 2, 7), (*head)[1]);
      CHECK(Floats(head) == Floats({{Part((*whole)[0], 2, 0, 2)}}));
      CHECK(Floats(tail) == Floats({{Part((*whole)[0], 2, 2, 7)}}));
      CHECK(Floats(tail, 1) == Floats(whole, 1));
      const std::vector<float> row = {x.values<float>().begin(), x.values<float>().end()};
      double sum = b.values<float>()[0];
      for (int64_t k = 0; k < taps && k <= 3; ++k) {
        sum += double{w.values<float>()[static_cast<size_t>(taps - 1 - k)]} * double{row[static_cast<size_t>(3 - k)]};
      }
      if (activation == "silu") sum /= 1 + std::exp(-sum);
      CHECK(Floats(whole)[3] == Catch::Approx(sum).margin(1e-6));
    }
  }
}

TEST_CASE("CausalConvWithState, RefusesFiltersAndStatesThatDoNotFit", "[backend]") {
  std::mt19937 random(1);
  const Tensor x = Drawn(random, {1, 2, 3});
  const auto refused = [&](const Tensor& w, const Tensor& past, const std::string& attributes) {
    const auto results =
        Evaluate("opset 27\n" + InputOf("x", x) + InputOf("w", w) + InputOf("p", past) +
                     "y, state = CausalConvWithState(x, w, _, p) " + attributes + "\noutput y\noutput state\n",
                 {x, w, Tensor(), past});
    return !results.ok() && results.error().code == ErrorCode::kInvalidInput;
  };
  const Tensor w = Drawn(random, {2, 1, 2}), past = Drawn(random, {1, 2, 1});
  CHECK_FALSE(refused(w, past, ""));
  CHECK(refused(Drawn(random, {3, 1, 2}), past, ""));
  CHECK(refused(Drawn(random, {2, 2, 2}), past, ""));
  CHECK(refused(Drawn(random, {2, 1, 0}), past, ""));
  CHECK(refused(w, Drawn(random, {1, 2, 2}), ""));
  CHECK(refused(w, past, "activation=\"relu\""));
}

}  // namespace
}  // namespace pt::reference_attention_test
