// Hand-worked cases of operators of the reference library, by family. The published node tests cover the rest.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "test/testing/run_on_reference.h"

namespace pt::reference_operators_test {
namespace {

// The result of the text's first node on one input and the text's constants.
std::vector<float> Evaluate(std::string_view text, const Tensor& input) {
  const Graph graph = ParseGraph(text).value();
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.node(NodeId(0u)).inputs) inputs.push_back(graph.value(id).constant.value_or(input));
  auto results = EvaluateNode(graph, NodeId(0u), inputs);
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

// "Clipping bounds the elements of a tensor in the range of [-threshold, +threshold] and is applied to the input of
// activations": the one before the hidden state is among them, the cell itself is not bounded.
TEST_CASE("Lstm, ClipBoundsWhatGoesIntoEveryActivation", "[backend]") {
  const std::string text =
      "input x float32[1,1,1]\nconst w float32[1,4,1] zeros\nconst r float32[1,4,1] zeros\n"
      "const b float32[1,8] floats 5 5 5 5 0 0 0 0\nconst l int32[1] ints 1\nconst h float32[1,1,1] zeros\n"
      "const c float32[1,1,1] value 10\n"
      "y, yh, yc = LSTM(x, w, r, b, l, h, c) clip=0.5 hidden_size=1\noutput y\noutput yh\noutput yc\n";
  const Graph graph = ParseGraph(text).value();
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.node(NodeId(0u)).inputs) {
    inputs.push_back(graph.value(id).constant.value_or(Tensor::Float32({1, 1, 1}, {0})));
  }
  const auto results = EvaluateNode(graph, NodeId(0u), inputs);
  REQUIRE(results.ok());
  const double gate = 1 / (1 + std::exp(-0.5)), bounded = std::tanh(0.5);
  CHECK((*results)[2].values<float>()[0] == Catch::Approx(10 * gate + gate * bounded));
  CHECK((*results)[1].values<float>()[0] == Catch::Approx(gate * bounded));
  CHECK((*results)[0].values<float>()[0] == Catch::Approx(gate * bounded));
}

TEST_CASE("Lstm, ClipLetsNanPass", "[backend]") {
  const std::string text =
      "input x float32[1,1,1]\nconst w float32[1,4,1] ones\nconst r float32[1,4,1] zeros\n"
      "y = LSTM(x, w, r) clip=0.5 hidden_size=1 : float32[1,1,1,1]\noutput y\n";
  CHECK(std::isnan(Evaluate(text, Tensor::Float32({1, 1, 1}, {std::nanf("")}))[0]));
}

// By Laplace's expansion along the first row.
double ExpandedDeterminant(const std::vector<float>& m, size_t n) {
  if (n == 0) return 1;
  double sum = 0;
  for (size_t column = 0; column < n; ++column) {
    std::vector<float> minor;
    for (size_t row = 1; row < n; ++row) {
      for (size_t c = 0; c < n; ++c) {
        if (c != column) minor.push_back(m[row * n + c]);
      }
    }
    sum += (column % 2 == 0 ? 1.0 : -1.0) * m[column] * ExpandedDeterminant(minor, n - 1);
  }
  return sum;
}

// Of two sequences of at most two steps: Y, the last hidden state, and an LSTM's last cell.
std::vector<Tensor> WithLengths(const std::string& op, const std::string& direction, int layout, int first,
                                int second) {
  const int gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  const std::string rows = std::to_string(2 * gates), each = layout == 0 ? "1,2,2" : "2,1,2";
  const auto matrix = [&](const char* name) {
    std::string text = std::string("const ") + name + " float32[1," + rows + ",2] floats";
    for (int i = 0; i < 4 * gates; ++i) text += " " + std::to_string(0.1 * (i * 5 % 7 - 3));
    return text + "\n";
  };
  const bool lstm = op == "LSTM";
  const Graph graph =
      ParseGraph("const x float32[2,2,2] floats 1 -1 0.5 2 -0.5 1 0.3 0.2\n" + matrix("w") + matrix("r") +
                 "const l int32[2] ints " + std::to_string(first) + " " + std::to_string(second) + "\n" +
                 "const h float32[" + each + "] floats 0.5 0.4 0.3 0.2\n" + "y, last" + (lstm ? ", cell" : "") + " = " +
                 op + "(x, w, r, _, l, h" + (lstm ? ", h" : "") + ") hidden_size=2 direction=\"" + direction +
                 "\" layout=" + std::to_string(layout) + " : float32[" + (layout == 0 ? "2,1,2,2" : "2,2,1,2") +
                 "], float32[" + each + "]" + (lstm ? ", float32[" + each + "]" : "") + "\noutput y\noutput last\n" +
                 (lstm ? "output cell\n" : ""))
          .value();
  return testing::RunOnReference(graph, {});
}

// As in ONNX Runtime and OpenVINO, whatever the initial state is; the standard does not say.
TEST_CASE("Recurrent, SequencesWithoutStepsEndInZeros", "[backend]") {
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    for (const std::string direction : {"forward", "reverse"}) {
      for (const int layout : {0, 1}) {
        CAPTURE(op, direction, layout);
        const std::vector<Tensor> all = WithLengths(op, direction, layout, 2, 2);
        const std::vector<Tensor> some = WithLengths(op, direction, layout, 0, 2);
        for (size_t output = 1; output < some.size(); ++output) {
          const auto is = some[output].values<float>(), full = all[output].values<float>();
          CHECK((is[0] == 0 && is[1] == 0));
          CHECK((is[2] == full[2] && is[3] == full[3] && full[0] != 0));
        }
        const auto y = some[0].values<float>();
        const size_t second_step = layout == 0 ? 4 : 2;
        for (const size_t at : {size_t{0}, second_step}) CHECK((y[at] == 0 && y[at + 1] == 0));
      }
    }
  }
}

TEST_CASE("Det, EqualsItsExpansionForMatricesOfEverySize", "[backend]") {
  const uint32_t seed = 31;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (size_t n = 0; n <= 6; ++n) {
    CAPTURE(n);
    std::vector<float> values(3 * n * n);
    for (float& value : values) value = static_cast<float>(random() % 9) - 4;               // zeros on the diagonal too
    if (n > 1) std::copy_n(values.begin(), n, values.begin() + static_cast<ptrdiff_t>(n));  // two equal rows
    const auto dim = static_cast<int64_t>(n);
    const std::string text =
        "input x float32[3," + std::to_string(n) + "," + std::to_string(n) + "]\ny = Det(x) : float32[3]\noutput y\n";
    const std::vector<float> y = Evaluate(text, Tensor::Float32({3, dim, dim}, values));
    REQUIRE(y.size() == 3);
    for (size_t b = 0; b < 3; ++b) {
      const auto first = values.begin() + static_cast<ptrdiff_t>(b * n * n);
      const double expected = ExpandedDeterminant({first, first + static_cast<ptrdiff_t>(n * n)}, n);
      CHECK(y[b] == Catch::Approx(expected).margin(1e-3));
    }
  }
}

// The definition says so of both versions (onnx/onnx#7618); cases published before that expect NaN.
TEST_CASE("LpNormalization, VectorOfZerosStaysOne", "[backend]") {
  const Tensor x = Tensor::Float32({2, 2}, {0, 0, 3, 4});
  for (const std::string version : {"", "opset 21\n"}) {
    const std::string node = version + "input x float32[2,2]\ny = LpNormalization(x) axis=1";
    CHECK(Evaluate(node + "\noutput y\n", x) == std::vector<float>{0, 0, 0.6F, 0.8F});
    CHECK(Evaluate(node + " p=1\noutput y\n", x) == std::vector<float>{0, 0, 3 / 7.0F, 4 / 7.0F});
  }
}

TEST_CASE("SpaceToDepth, ModeSaysWhetherBlocksOrChannelsComeFirst", "[backend]") {
  // Two channels of 2x2: with blocks first the channels alternate, else each channel's block stays together.
  const Tensor x = Tensor::Float32({1, 2, 2, 2}, {0, 1, 2, 3, 10, 11, 12, 13});
  const std::string node = "input x float32[1,2,2,2]\ny = SpaceToDepth(x) blocksize=2";
  CHECK(Evaluate(node + "\noutput y\n", x) == std::vector<float>{0, 10, 1, 11, 2, 12, 3, 13});
  CHECK(Evaluate(node + " mode=\"CRD\"\noutput y\n", x) == std::vector<float>{0, 1, 2, 3, 10, 11, 12, 13});
}

TEST_CASE("Cast, FromDoubleRoundsOnce", "[backend]") {
  // Just above the middle of two neighbours, by less than a float32 can say.
  const double values[] = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-50};
  const Tensor x = Tensor::Of<double>(DataType::kFloat64, {2}, values);
  const auto bits = [&](const char* type) {
    const Graph graph = ParseGraph("input x float64[2]\ny = Cast(x) to=" + std::string(type) + "\noutput y\n").value();
    const auto results = EvaluateNode(graph, NodeId(0u), {{x}}).value();
    const std::span<const uint16_t> found = results[0].values<uint16_t>();
    return std::vector<uint16_t>(found.begin(), found.end());
  };
  CHECK(bits("10")[0] == 0x3C01);  // float16
  CHECK(bits("16")[1] == 0x3F81);  // bfloat16
}

// x as the inverse of a one-sided transform of itself, of each length; the lower half comes from the definition.
TEST_CASE("DFT, OneSidedInverseGivesBackRealSignals", "[backend]") {
  for (const size_t n : {size_t{1}, size_t{2}, size_t{5}, size_t{6}}) {
    CAPTURE(n);
    std::vector<float> signal(n);
    for (size_t t = 0; t < n; ++t) signal[t] = static_cast<float>(t * t % 7) - 2;
    const std::string length = std::to_string(n), bins = std::to_string(n / 2 + 1);
    const std::vector<float> spectrum =
        Evaluate("input x float32[1," + length + ",1]\ny = DFT(x) onesided=1\noutput y\n",
                 Tensor::Float32({1, static_cast<int64_t>(n), 1}, signal));
    REQUIRE(spectrum.size() == 2 * (n / 2 + 1));
    const std::vector<float> back = Evaluate("input x float32[1," + bins + ",2]\nconst n int64[] ints " + length +
                                                 "\ny = DFT(x, n) onesided=1 inverse=1\noutput y\n",
                                             Tensor::Float32({1, static_cast<int64_t>(n / 2 + 1), 2}, spectrum));
    REQUIRE(back.size() == n);
    for (size_t t = 0; t < n; ++t) CHECK(back[t] == Catch::Approx(signal[t]).margin(1e-5));
  }
}

TEST_CASE("DFT, OneSidedInverseTakesAnEvenLengthUnlessToldAndPadsOrCutsTheSpectrum", "[backend]") {
  // Imaginary parts that a real signal's transform cannot have, at 0 and at the middle, have no influence.
  const Tensor x = Tensor::Float32({3, 2}, {4, 9, 1, 2, -2, 9});
  const auto check = [&](const std::string& text, const std::vector<double>& expected) {
    INFO(text);
    const std::vector<float> y = Evaluate(text + " onesided=1 inverse=1\noutput y\n", x);
    REQUIRE(y.size() == expected.size());
    for (size_t t = 0; t < y.size(); ++t) CHECK(y[t] == Catch::Approx(expected[t]).margin(1e-6));
  };
  check("opset 19\ninput x float32[3,2]\ny = DFT(x) axis=0", {1, 0.5, 0, 2.5});
  check("input x float32[3,2]\ny = DFT(x)", {1, 0.5, 0, 2.5});
  const std::string sized = "input x float32[3,2]\nconst n int64[] ints ";
  check(sized + "1\ny = DFT(x, n)", {4});
  check(sized + "2\ny = DFT(x, n)", {2.5, 1.5});  // two bins of three
  // All of them, none of what a length of 8 has beyond them; the third is not its middle.
  const double root = std::sqrt(2.0) / 8;
  check(sized + "8\ny = DFT(x, n)",
        {0.25, -1.75 - root, 0.5, 2.75 - 3 * root, -0.25, -1.75 + root, 1.5, 2.75 + 3 * root});
}

TEST_CASE("DFT, OneSidedTransformsTakeWhatTheyAreDefinedFor", "[backend]") {
  const auto refused = [](std::string_view text, const Tensor& x) {
    const auto results = EvaluateNode(ParseGraph(text).value(), NodeId(0u), {{x}});
    return !results.ok() && results.error().code == ErrorCode::kInvalidInput;
  };
  CHECK(refused("input x float32[2,1]\ny = DFT(x) onesided=1 inverse=1\noutput y\n", Tensor::Float32({2, 1}, {1, 2})));
  CHECK(refused("input x float32[1,2]\ny = DFT(x) onesided=1\noutput y\n", Tensor::Float32({1, 2}, {1, 2})));
  CHECK(refused("input x float32[1,2]\ny = DFT(x) onesided=1 inverse=1\noutput y\n", Tensor::Float32({1, 2}, {1, 2})));
}

// ---- Of opsets 26 to 28 ----

std::vector<int64_t> EvaluateInts(const std::string& text, const std::vector<Tensor>& inputs) {
  const Graph graph = ParseGraph("opset 28\n" + text).value();
  const auto results = EvaluateNode(graph, NodeId(0u), inputs);
  INFO((results.ok() ? std::string() : ToString(results.error())));
  REQUIRE(results.ok());
  return (*results)[0].ToInts();
}

TEST_CASE("BitShift, SignedNumbersKeepTheirSignToTheRightAndLoseItToTheLeft", "[backend]") {
  const auto shift = [](const std::string& direction, const std::vector<int8_t>& x, const std::vector<int8_t>& by) {
    const auto of = [](const std::vector<int8_t>& v) {
      return Tensor::Of<int8_t>(DataType::kInt8, {static_cast<int64_t>(v.size())}, v);
    };
    const std::string n = std::to_string(x.size());
    return EvaluateInts("input x int8[" + n + "]\ninput b int8[" + n + "]\ny = BitShift(x, b) direction=\"" +
                            direction + "\"\noutput y\n",
                        {of(x), of(by)});
  };
  CHECK(shift("RIGHT", {-7, -1, 7, -7, -7, 7}, {1, 7, 1, 8, -1, -128}) == std::vector<int64_t>{-4, -1, 3, -1, -1, 0});
  CHECK(shift("LEFT", {-7, 1, 65, -7, -7, 7}, {1, 7, 1, 8, -1, 100}) == std::vector<int64_t>{-14, -128, -126, 0, 0, 0});
}

TEST_CASE("CumProd, MultipliesUpFromEitherEnd", "[backend]") {
  const Tensor x = Tensor::Int64({4}, {2, 3, -1, 5}), axis = Tensor::Int64({}, {-1});
  const auto run = [&](const std::string& attributes) {
    return EvaluateInts("input x int64[4]\ninput a int64[]\ny = CumProd(x, a)" + attributes + "\noutput y\n",
                        {x, axis});
  };
  CHECK(run("") == std::vector<int64_t>{2, 6, -6, -30});
  CHECK(run(" exclusive=1") == std::vector<int64_t>{1, 2, 6, -6});
  CHECK(run(" exclusive=1 reverse=1") == std::vector<int64_t>{-15, -5, 5, 1});
}

TEST_CASE("BitCast, KeepsBitsAndRefusesOtherWidths", "[backend]") {
  const Tensor x = Tensor::Float32({2}, {1, -0.0F});
  CHECK(EvaluateInts("input x float32[2]\ny = BitCast(x) to=6\noutput y\n", {x}) ==
        std::vector<int64_t>{0x3F800000, INT32_MIN});
  const Tensor nibbles = Tensor::FromBytes(DataType::kInt4, {3}, std::string("\xF1\x08", 2)).value();
  CHECK(EvaluateInts("input x int4[3]\ny = BitCast(x) to=21\noutput y\n", {nibbles}) == std::vector<int64_t>{1, 15, 8});
  for (const char* to : {"7", "8", "0", "27"}) {
    const Graph graph =
        ParseGraph("opset 28\ninput x float32[2]\ny = BitCast(x) to=" + std::string(to) + "\noutput y\n").value();
    const auto results = EvaluateNode(graph, NodeId(0u), {{x}});
    REQUIRE_FALSE(results.ok());
    CHECK(results.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("NamedTypes, NumbersThatAreNoTypeAreRefused", "[backend]") {
  const Tensor x = Tensor::Float32({2, 2}, {1, 2, 3, 4}), scale = Tensor::Float32({}, {1});
  for (const char* node : {"QuantizeLinear(x, s) output_dtype=40", "Cast(x) to=27", "EyeLike(x) dtype=27"}) {
    INFO(node);
    const Graph graph =
        ParseGraph("opset 25\ninput x float32[2,2]\ninput s float32[]\ny = " + std::string(node) + "\noutput y\n")
            .value();
    const bool scaled = graph.nodes()[0].inputs.size() == 2;
    const auto results = EvaluateNode(graph, NodeId(0u), scaled ? std::vector{x, scale} : std::vector{x});
    REQUIRE_FALSE(results.ok());
    CHECK(results.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("SwiGLU, GatesOneInputByTheOther", "[backend]") {
  const Graph graph =
      ParseGraph("opset 28\ninput a float32[3]\ninput b float32[3]\ny = SwiGLU(a, b) alpha=2.0\noutput y\n").value();
  const auto results =
      EvaluateNode(graph, NodeId(0u), {{Tensor::Float32({3}, {0, 1, -1000}), Tensor::Float32({3}, {5, 3, 2})}});
  REQUIRE(results.ok());
  const std::span<const float> y = (*results)[0].values<float>();
  CHECK(y[0] == 0);
  CHECK(y[1] == Catch::Approx(3 / (1 + std::exp(-2.0))));
  CHECK(y[2] == 0);
}

// "" when it is accepted.
std::string FaultOf(const char* text) {
  const Result<Graph> graph = ParseGraph(text);
  REQUIRE(graph.ok());
  const Status status = CheckOperators(*graph);
  if (!status.ok()) CHECK(status.error().code == ErrorCode::kInvalidInput);
  return status.ok() ? "" : status.error().message;
}

TEST_CASE("DequantizeLinear, BlocksOfAVectorHaveAScaleEach", "[backend]") {
  const std::string node =
      "const s float32[2] floats 0.5 2\ny = DequantizeLinear(x, s) axis=0 block_size=3\noutput y\n";
  CHECK(Evaluate("const x uint8[6] ints 1 2 3 4 5 6\n" + node, {}) == std::vector<float>{0.5F, 1, 1.5F, 8, 10, 12});
  CHECK(Evaluate("const x uint8[5] ints 1 2 3 4 5\n" + node, {}) == std::vector<float>{0.5F, 1, 1.5F, 8, 10});
}

TEST_CASE("Split, PartsAreAsManyAsTheAttributeSays", "[backend]") {
  const char* text = "input x float32[6]\na, b = Split(x) num_outputs=3 : float32[2], float32[2]\noutput a\noutput b\n";
  CHECK(FaultOf(text).find("num_outputs is 3, its outputs are 2") != std::string::npos);
  CHECK(FaultOf("opset 11\ninput x float32[5]\na, b = Split(x) : float32[3], float32[2]\noutput a\noutput b\n")
            .find("no 2 equal parts") != std::string::npos);
}

TEST_CASE("Resize, RegionsHaveAStartAndAnEndForEachAxis", "[backend]") {
  CHECK(FaultOf("input x float32[4,4]\nconst r float32[3] floats 0 0 1\nconst s float32[2] floats 1 1\n"
                "y = Resize(x, r, s) coordinate_transformation_mode=\"tf_crop_and_resize\" : float32[4,4]\noutput y\n")
            .find("roi does not fit the axes") != std::string::npos);
}

TEST_CASE("Attention, ValuesAreSplitIntoHeadsAsQueriesAre", "[backend]") {
  CHECK(FaultOf("input q float32[2,3,32]\ninput k float32[2,5,16]\ninput v float32[2,2,5,6]\n"
                "y = Attention(q, k, v) q_num_heads=4 kv_num_heads=2 : float32[2,3,24]\noutput y\n")
            .find("do not fit each other") != std::string::npos);
}

}  // namespace
}  // namespace pt::reference_operators_test
