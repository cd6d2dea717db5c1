// Element types that few models have, in the operators that take them: small floats, complex numbers, packed types.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <complex>
#include <cstring>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/half.h"
#include "test/backend/node_results.h"

namespace pt::testing::reference_types_test {
namespace {

using Complex = std::complex<double>;

Tensor Bytes(DataType type, std::vector<int64_t> dims, const std::vector<uint8_t>& bytes) {
  return Tensor::FromBytes(type, std::move(dims), std::string(bytes.begin(), bytes.end())).value();
}

// As complex64 or complex128.
Tensor Complexes(DataType type, std::vector<int64_t> dims, const std::vector<Complex>& values) {
  std::string bytes;
  for (const Complex& value : values) {
    const std::complex<float> narrow(value);
    if (type == DataType::kComplex64) bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
    if (type == DataType::kComplex128) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return Tensor::FromBytes(type, std::move(dims), bytes).value();
}

bool SameBytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.dims() == b.dims() && std::ranges::equal(a.bytes(), b.bytes());
}

std::vector<Tensor> ResultsOf(const std::string& text, const std::vector<Tensor>& inputs) {
  CAPTURE(text);
  auto results = Evaluate(text, inputs);
  if (!results.ok()) FAIL(ToString(results.error()));
  return std::move(results).value();
}

using Ints = std::vector<int64_t>;

}  // namespace

TEST_CASE("SmallFloats, AreAskedForNanInfinityAndZeroAsTheNumbersTheyAre", "[backend]") {
  const DataType type =
      GENERATE(DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ, DataType::kFloat8E5M2, DataType::kFloat8E5M2FNUZ);
  const std::string name(DataTypeName(type)), input = "input x " + name + "[256]\n";
  CAPTURE(name);
  std::vector<uint8_t> codes(256);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
  const Tensor x = Bytes(type, {256}, codes);
  const Tensor wide = ResultsOf(input + "y = Cast(x) to=1\noutput y\n", {x})[0];
  const std::span<const float> numbers = wide.values<float>();
  Ints nan, infinite, negative, non_zero;
  for (size_t i = 0; i < codes.size(); ++i) {
    nan.push_back(std::isnan(numbers[i]));
    infinite.push_back(std::isinf(numbers[i]));
    negative.push_back(std::isinf(numbers[i]) && numbers[i] < 0);
    if (numbers[i] != 0) non_zero.push_back(static_cast<int64_t>(i));
  }
  CHECK(ResultsOf(input + "y = IsNaN(x)\noutput y\n", {x})[0].ToInts() == nan);
  CHECK(ResultsOf(input + "y = IsInf(x)\noutput y\n", {x})[0].ToInts() == infinite);
  CHECK(ResultsOf(input + "y = IsInf(x) detect_positive=0\noutput y\n", {x})[0].ToInts() == negative);
  CHECK(ResultsOf(input + "y = NonZero(x)\noutput y\n", {x})[0].ToInts() == non_zero);
}

TEST_CASE("ComplexNumbers, AreZeroInBothParts", "[backend]") {
  const DataType type = GENERATE(DataType::kComplex64, DataType::kComplex128);
  const Tensor x = Complexes(type, {2, 2}, {{0, -0.0}, {0, 1}, {-1, 0}, {0, 0}});
  const std::string input = "input x " + std::string(DataTypeName(type)) + "[2,2]\n";
  CHECK(ResultsOf(input + "y = NonZero(x)\noutput y\n", {x})[0].ToInts() == Ints{0, 1, 1, 0});
}

TEST_CASE("ComplexNumbers, AreDistinctAndOrderedByTheirRealPartsFirst", "[backend]") {
  const DataType type = GENERATE(DataType::kComplex64, DataType::kComplex128);
  const std::vector<Complex> values = {{2, 1}, {1, 5}, {2, -1}, {1, 5}, {NAN, 0}, {2, 1}, {NAN, 0}};
  const std::string input = "input x " + std::string(DataTypeName(type)) + "[7]\n";
  const auto results = ResultsOf(input + "y, i, v, c = Unique(x)\noutput y\noutput i\noutput v\noutput c\n",
                                 {Complexes(type, {7}, values)});
  CHECK(SameBytes(results[0], Complexes(type, {4}, {{1, 5}, {2, -1}, {2, 1}, {NAN, 0}})));
  CHECK(results[1].ToInts() == Ints{1, 2, 0, 4});
  CHECK(results[2].ToInts() == Ints{2, 0, 1, 0, 3, 2, 3});
  CHECK(results[3].ToInts() == Ints{2, 1, 2, 2});
}

TEST_CASE("ComplexNumbers, AreScatteredAndNotSummed", "[backend]") {
  const DataType type = DataType::kComplex128;
  const Tensor x = Complexes(type, {3}, {{1, 2}, {3, 4}, {5, 6}}), update = Complexes(type, {1}, {{7, 8}});
  const Tensor expected = Complexes(type, {3}, {{1, 2}, {3, 4}, {7, 8}});
  const std::string inputs = "input x complex128[3]\ninput i int64[1]\ninput u complex128[1]\n";
  for (const std::string op : {"ScatterElements", "Scatter"}) {
    CHECK(SameBytes(ResultsOf((op == "Scatter" ? "opset 10\n" : "") + inputs + "y = " + op + "(x, i, u)\noutput y\n",
                              {x, Tensor::Int64({1}, {2}), update})[0],
                    expected));
  }
  const std::string nd = "input x complex128[3]\ninput i int64[1,1]\ninput u complex128[1]\ny = ScatterND(x, i, u)";
  const Tensor at = Tensor::Int64({1, 1}, {2});
  CHECK(SameBytes(ResultsOf(nd + "\noutput y\n", {x, at, update})[0], expected));
  const auto summed = Evaluate(nd + " reduction=\"add\"\noutput y\n", {x, at, update});
  REQUIRE_FALSE(summed.ok());
  CHECK(summed.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("ConstantOfShape, FillsPackedTypes", "[backend]") {
  const auto filled = [](DataType type, uint8_t code) {
    Node node;
    node.op = "ConstantOfShape";
    node.attributes["value"] = Bytes(type, {1}, {code});
    GraphBuilder builder;
    builder.set_opset(25);
    const ValueId shape = builder.AddInput("n", StaticType(DataType::kInt64, {1}));
    node.inputs = {shape};
    node.outputs = {builder.AddValue("y", {})};
    const ValueId y = node.outputs[0];
    builder.AddNode(std::move(node));
    builder.AddOutput(y);
    const auto results = EvaluateNode(builder.Build().value(), NodeId(0U), {{Tensor::Int64({1}, {5})}});
    if (!results.ok()) FAIL(ToString(results.error()));
    CHECK((*results)[0].type() == type);
    return (*results)[0].ToInts();
  };
  CHECK(filled(DataType::kInt4, 0x0D) == Ints{-3, -3, -3, -3, -3});
  CHECK(filled(DataType::kUint4, 0x0D) == Ints{13, 13, 13, 13, 13});
  CHECK(filled(DataType::kInt2, 0x02) == Ints{-2, -2, -2, -2, -2});
  CHECK(filled(DataType::kUint2, 0x03) == Ints{3, 3, 3, 3, 3});
}

TEST_CASE("Windows, AreCutOffToIntegersAndRoundedToSmallFloats", "[backend]") {
  const auto window = [](const std::string& op, int type, const std::string& more = "") {
    return ResultsOf(
        "input n int64[]\ny = " + op + "(n) output_datatype=" + std::to_string(type) + more + "\noutput y\n",
        {Tensor::Int64({}, {4})})[0];
  };
  for (const int integer : {2, 3, 4, 5, 6, 7, 12, 13}) {
    CAPTURE(integer);
    const Tensor y = window("HannWindow", integer);
    CHECK(static_cast<int>(y.type()) == integer);
    CHECK(y.ToInts() == Ints{0, 0, 1, 0});
  }
  const Tensor narrow = window("HannWindow", 10);
  CHECK(narrow.type() == DataType::kFloat16);
  CHECK(ToFloat(narrow.values<Half>()[1]) == 0.5F);
  CHECK(window("BlackmanWindow", 16).type() == DataType::kBfloat16);
  CHECK(window("HammingWindow", 11).type() == DataType::kFloat64);
  const auto boolean =
      Evaluate("input n int64[]\ny = HannWindow(n) output_datatype=9\noutput y\n", {Tensor::Int64({}, {4})});
  REQUIRE_FALSE(boolean.ok());
  CHECK(boolean.error().code == ErrorCode::kUnsupported);
  CHECK(IsInvalid(
      Evaluate("input n int64[]\ny = HannWindow(n) output_datatype=99\noutput y\n", {Tensor::Int64({}, {4})})));
}

// 1.5 · 2 + (-0.5) · 4 = 1; with a scale of 2 for the left side and 0.5 for the result: 4.
TEST_CASE("QLinearMatMul, MultipliesSmallFloats", "[backend]") {
  const DataType type = GENERATE(DataType::kFloat8E4M3FN, DataType::kFloat8E5M2);
  const std::string name(DataTypeName(type));
  const auto small = [&](std::vector<int64_t> dims, const std::vector<float>& values) {
    const Tensor wide = Tensor::Float32(dims, values);
    const std::string count = std::to_string(values.size());
    const Tensor flat = Tensor::Float32({static_cast<int64_t>(values.size())}, values);
    const Tensor cast = ResultsOf(
        "input x float32[" + count + "]\ny = Cast(x) to=" + std::to_string(static_cast<int>(type)) + "\noutput y\n",
        {flat})[0];
    const auto* bytes = reinterpret_cast<const char*>(cast.bytes().data());
    return Tensor::FromBytes(type, std::move(dims), std::string(bytes, cast.bytes().size())).value();
  };
  const Tensor zero = small({}, {0}), one = Tensor::Float32({}, {1});
  const auto y = ResultsOf("input a " + name + "[1,2]\ninput s float32[]\ninput z " + name + "[]\ninput b " + name +
                               "[2,1]\ninput t float32[]\ninput w " + name + "[]\ninput u float32[]\ninput v " + name +
                               "[]\ny = QLinearMatMul(a, s, z, b, t, w, u, v)\noutput y\n",
                           {small({1, 2}, {1.5F, -0.5F}), Tensor::Float32({}, {2}), zero, small({2, 1}, {2, 4}), one,
                            zero, Tensor::Float32({}, {0.5F}), zero})[0];
  CHECK(SameBytes(y, small({1, 1}, {4})));
}

// The sizes of these nodes are known only in the run, their types are not.
TEST_CASE("Types, ThatAnOperatorLacksAreRefusedBeforeTheRun", "[backend]") {
  const auto library = MakeReferenceLibrary();
  const auto why = [&](const std::string& text) {
    const Result<Graph> graph = ParseGraph(text);
    if (!graph.ok()) FAIL(ToString(graph.error()));
    return library->WhyUnsupported(*graph, NodeId(0U)).value_or("");
  };
  CHECK(why("input x complex64[?]\ny = Neg(x)\noutput y\n") == "Neg is not supported for complex64");
  CHECK(why("input x float8e5m2[?,3]\ny = Unique(x)\noutput y\n") == "Unique is not supported for float8e5m2");
  CHECK(why("input x bool[?,4,4,1]\nconst r float32[] zeros\nconst s float32[4] ones\ny = Resize(x, _, s)\noutput "
            "y\n") == "Resize is not supported for bool");
  CHECK(why("input x float32[?]\ny = Neg(x)\noutput y\n") == "");
  CHECK(why("input x complex64[?]\ny = NonZero(x)\noutput y\n") == "");
}

}  // namespace pt::testing::reference_types_test
