// Quantised operators and groups of the library "cuda" over the whole range of their integers, and what is offered.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "partitiontuner/graph/linear_quantisation.h"
#include "test/cuda/cuda_cases.h"
#include "test/cuda/cuda_lab.h"
#include "test/cuda/cuda_networks.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/generated/draw_graph.h"
#include "test/testing/generated/drawn_case.h"
#include "test/testing/run_candidate.h"
#include "test/testing/run_on_reference.h"

namespace pt::testing::quantised_test {
namespace {

enum class Data : uint8_t { kAnywhere, kLow, kHigh };

// Integers of the whole range, or all at one end of it; real numbers that are scales: above zero.
Tensor Filled(const ValueType& type, Data data, uint32_t seed) {
  std::mt19937 random(seed);
  const std::vector<int64_t> dims = *type.static_dims();
  const auto count = static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()));
  if (type.type == DataType::kFloat32) {
    std::vector<float> numbers(count);
    for (float& number : numbers) number = 0.01F + static_cast<float>(random() % 1000) * 1e-4F;
    return Tensor::Float32(dims, numbers);
  }
  const IntegerRange range = RangeOf(type.type).value();
  // An int32 is a bias, or a sum.
  const bool wide = type.type == DataType::kInt32;
  const int low = wide ? -1000 : static_cast<int>(range.low), high = wide ? 1000 : static_cast<int>(range.high);
  std::vector<int> numbers(count);
  for (int& number : numbers) {
    number = data == Data::kLow    ? low
             : data == Data::kHigh ? high
                                   : low + static_cast<int>(random()) % (high - low + 1);
    number = std::clamp(number, low, high);
  }
  if (wide) return Tensor::Of<int32_t>(type.type, dims, std::vector<int32_t>(numbers.begin(), numbers.end()));
  std::string bytes;
  for (const int number : numbers) bytes.push_back(static_cast<char>(number));
  return Tensor::FromBytes(type.type, dims, std::move(bytes)).value();
}

std::vector<Tensor> FilledInputs(const Graph& graph, Data data) {
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    inputs.push_back(Filled(graph.value(input).type, data, static_cast<uint32_t>(inputs.size() + 1)));
  }
  return inputs;
}

// The first result of each way to run the whole graph, with its name.
std::vector<std::pair<std::string, Tensor>> RunAsOne(const CudaLab& lab, const Graph& graph,
                                                     const std::vector<Tensor>& inputs) {
  const auto library = cuda::MakeOwnKernelsLibrary();
  const std::vector<Tensor> in_order = AsGroupInputs(graph, inputs);
  std::vector<std::pair<std::string, Tensor>> results;
  for (const Candidate& candidate : library->CandidatesFor(graph, lab.platform, AllNodes(graph), {})) {
    const auto made = RunOnCuda(lab, *library, graph, candidate, in_order);
    if (!made.ok()) FAIL(ToString(made.error()));
    results.emplace_back(candidate.variant, made->at(0));
  }
  CHECK(lab.gpu.Violations().empty());
  return results;
}

// A quantised group by scales and zero points of every kind; y is what is quantised to q.
const std::vector<std::string>& Groups() {
  static const std::string parameters =
      "const s1 float32[] value 0.043\nconst s2 float32[1] value 0.0191\nconst s3 float32[] value 0.21\n"
      "const sw float32[] value 0.0173\nconst u0 uint8[] value 0\nconst u1 uint8[1] value 131\n"
      "const i0 int8[] value 0\nconst i1 int8[] value -128\nconst i2 int8[1] value 37\nconst um uint8[] value 128\n";
  static const std::vector<std::string> groups = [] {
    std::vector<std::string> texts = {
        "input x uint8[1,16,9,9]\nconst w int8[32,16,3,3] whole 1\nconst b float32[32] random 2\n"
        "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, sw, i0)\ny = Conv(d, v, b) pads=[1,1,1,1]\n"
        "q = QuantizeLinear(y, s3, u1)\noutput q\n",
        "input x int8[2,7,11,5]\nconst w int8[13,7,3,3] whole 1\nd = DequantizeLinear(x, s1, i1)\n"
        "v = DequantizeLinear(w, sw, i2)\ny = Conv(d, v) pads=[1,2,0,1] strides=[2,1]\n"
        "q = QuantizeLinear(y, s3, i2)\noutput q\n",
        "input x uint8[1,8,6,6]\nconst w uint8[12,8,1,1] whole 1\nconst b float32[12] random 2\n"
        "const c float32[12] floats 0.01 0.02 0.03 0.005 0.01 0.02 0.03 0.005 0.01 0.02 0.03 0.1\n"
        "const z uint8[12] value 128\nd = DequantizeLinear(x, s1, u0)\nv = DequantizeLinear(w, c, z) axis=0\n"
        "p = Conv(d, v, b)\ny = Relu(p)\nq = QuantizeLinear(y, s3, u0)\noutput q\n",
        "input x uint8[1,24,13,13]\nconst w int8[24,1,5,5] whole 1\nconst b float32[24] random 3\n"
        "const lo float32[] value 0\nconst hi float32[] value 6\nd = DequantizeLinear(x, s1, u1)\n"
        "v = DequantizeLinear(w, sw, i0)\np = Conv(d, v, b) group=24 pads=[2,2,2,2] strides=[2,2]\n"
        "y = Clip(p, lo, hi)\nq = QuantizeLinear(y, s2, u0)\noutput q\n",
        "input x uint8[1,16,8,8]\ninput r int8[1,24,8,8]\nconst w int8[24,16,1,1] whole 1\n"
        "d = DequantizeLinear(x, s1, u0)\nv = DequantizeLinear(w, sw, i0)\ne = DequantizeLinear(r, s2, i2)\n"
        "p = Conv(d, v)\na = Add(e, p)\ny = HardSwish(a)\nq = QuantizeLinear(y, s3, u1)\noutput q\n",
        "input x uint8[5,16]\nconst w int8[16,12] whole 1\nconst b float32[12] random 2\n"
        "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, sw, i0)\np = MatMul(d, v)\ny = Add(p, b)\n"
        "q = QuantizeLinear(y, s3, u0)\noutput q\n",
        "input x int8[4,200]\nconst w int8[10,200] whole 1\nconst b float32[10] random 2\n"
        "const c float32[10] floats 0.01 0.02 0.03 0.005 0.01 0.02 0.03 0.005 0.01 0.02\n"
        "d = DequantizeLinear(x, s1, i1)\nv = DequantizeLinear(w, c) axis=0\n"
        "y = Gemm(d, v, b) transB=1 alpha=0.7 beta=1.3\nq = QuantizeLinear(y, s3, i2)\noutput q\n",
        "input x uint8[2,6,8,8]\nd = DequantizeLinear(x, s1, u1)\n"
        "y = AveragePool(d) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]\nq = QuantizeLinear(y, s2, u0)\n"
        "output q\n",
        "input x int8[1,37,7,5]\nd = DequantizeLinear(x, s1, i1)\ny = GlobalAveragePool(d)\n"
        "q = QuantizeLinear(y, s1, i1)\noutput q\n"};
    for (std::string& text : texts) text = parameters + text;
    return texts;
  }();
  return groups;
}

bool IsOnIntegers(const Node& node) {
  return IsQuantisation(node) || IsDequantisation(node) || node.op == "DynamicQuantizeLinear" ||
         node.op.starts_with("QLinear") || node.op.ends_with("Integer");
}

ValueId ValueNamed(const Graph& graph, std::string_view name) {
  for (uint32_t v = 0; v < graph.values().size(); ++v) {
    if (graph.value(ValueId(v)).name == name) return ValueId(v);
  }
  FAIL("no value " << name);
  return ValueId();
}

}  // namespace

TEST_CASE("CudaQuantise, EveryNumberIsRoundedAsInTheReference", "[cuda]") {
  const WatchedLab lab;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> numbers = {0.0F,  -0.0F,  kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                                3e38F, -3e38F, 1e-40F};
  for (int half = -600; half <= 600; ++half) {  // halfway between two, and beside it
    const float number = static_cast<float>(half) * 0.5F;
    for (const float beside : {number, std::nextafter(number, kInfinity), std::nextafter(number, -kInfinity)}) {
      numbers.insert(numbers.end(), {beside, beside * 0.043F, beside * 128});
    }
  }
  const auto count = static_cast<int64_t>(numbers.size());
  for (const char* type : {"uint8", "int8", "uint16", "int16"}) {
    const IntegerRange range =
        RangeOf(ParseInferred(std::string("input z ") + type + "[1]\ny = Identity(z)\noutput y\n")
                    .value(ValueId(0u))
                    .type.type)
            .value();
    for (const char* scale : {"1", "0.043"}) {
      for (const double zero : {range.low, range.high, 5.0}) {
        const std::string text = "input x float32[" + std::to_string(count) + "]\nconst s float32[] value " + scale +
                                 "\nconst z " + type + "[] value " + std::to_string(static_cast<int>(zero)) +
                                 "\nq = QuantizeLinear(x, s, z)\noutput q\n";
        INFO(text);
        const Graph graph = ParseInferred(text);
        const std::vector<Tensor> inputs = {Tensor::Float32({count}, numbers)};
        const Tensor expected = RunOnReference(graph, inputs)[0];
        const auto results = RunAsOne(lab, graph, inputs);
        REQUIRE(results.size() == 1);
        CHECK(Difference(results[0].second, expected, 0) == "");
      }
    }
  }
}

TEST_CASE("CudaIntegerProducts, OperatorsOnIntegersGiveExactlyTheReferencesResult", "[cuda]") {
  const WatchedLab lab;
  const Data data = GENERATE(Data::kAnywhere, Data::kLow, Data::kHigh);
  size_t compared = 0;
  for (const auto& cases : {IntegerConvolutionCases(), IntegerMatrixCases()}) {
    for (const std::string& text : cases) {
      const bool integers = text.find("= QLinear") != std::string::npos ||
                            (text.find("Integer(") != std::string::npos && text.find("Cast") == std::string::npos);
      if (!integers) continue;
      INFO(text);
      const Graph graph = ParseInferred(text);
      const std::vector<Tensor> inputs = FilledInputs(graph, data);
      const Tensor expected = RunOnReference(graph, inputs)[0];
      const auto results = RunAsOne(lab, graph, inputs);
      REQUIRE_FALSE(results.empty());
      for (const auto& [variant, result] : results) {
        INFO(variant);
        CHECK(Difference(result, expected, 0) == "");
      }
      compared += results.size();
    }
  }
  CHECK(compared > 50);
}

// The reference library sums rounded real numbers, these kernels integers: halfway between two steps, where a rounding
// more or less decides, either may be given, and nowhere else.
TEST_CASE("CudaIntegerProducts, GroupsAreOneStepOffAtMostAndOnlyHalfwayBetweenTwo", "[cuda]") {
  const WatchedLab lab;
  const Data data = GENERATE(Data::kAnywhere, Data::kLow, Data::kHigh);
  for (const std::string& text : Groups()) {
    INFO(text);
    const Graph graph = ParseInferred(text);
    const std::vector<Tensor> inputs = FilledInputs(graph, data);
    const Result<std::vector<Tensor>> values = EvaluateGraph(graph, inputs);
    REQUIRE(values.ok());
    const Tensor real = values->at(ValueNamed(graph, "y").index());
    const std::vector<int64_t> expected = OutputsOf(graph, *values)[0].ToInts();
    const auto quantisation = LinearQuantisationOf(graph, graph.nodes().back());
    REQUIRE(quantisation.has_value());
    const auto results = RunAsOne(lab, graph, inputs);
    REQUIRE_FALSE(results.empty());
    for (const auto& [variant, result] : results) {
      INFO(variant);
      const std::vector<int64_t> actual = result.ToInts();
      REQUIRE(actual.size() == expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        if (actual[i] == expected[i]) continue;
        const double steps =
            static_cast<double>(real.values<float>()[i]) / static_cast<double>(quantisation->scales[0]);
        CAPTURE(i, actual[i], expected[i], steps);
        CHECK(std::abs(actual[i] - expected[i]) == 1);
        CHECK(std::fabs(steps - std::floor(steps) - 0.5) < 1e-3);
      }
    }
  }
}

// Whatever is offered for a quantised part of a graph that was drawn at random, on the values that occur there.
TEST_CASE("CudaQuantise, DrawnGraphsAgreeWithTheReferenceWithinAStep", "[cuda]") {
  const auto library = cuda::MakeOwnKernelsLibrary();
  size_t compared = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    const Result<DrawnCase> drawn = ReadCase(DrawGraph(seed).text);
    REQUIRE(drawn.ok());
    if (std::ranges::none_of(drawn->graph.nodes(), IsOnIntegers)) continue;
    const WatchedLab lab;
    const Graph graph = Simplified(drawn->graph);
    const Result<std::vector<Tensor>> values = EvaluateGraph(graph, drawn->inputs);
    REQUIRE(values.ok());
    std::vector<Candidate> candidates = library->Candidates(graph, lab.platform, {});
    std::erase_if(candidates, [&](const Candidate& candidate) {
      return std::ranges::none_of(candidate.nodes, [&](NodeId node) { return IsOnIntegers(graph.node(node)); });
    });
    CompileKernels(graph, candidates);
    for (const Candidate& candidate : candidates) {
      std::vector<Tensor> inputs;
      for (const ValueId input : GroupInputs(graph, candidate.nodes)) inputs.push_back(values->at(input.index()));
      const auto results = RunOnCuda(lab, *library, graph, candidate, inputs);
      if (!results.ok()) FAIL(ToString(results.error()));
      const std::vector<ValueId> made = GroupOutputs(graph, candidate.nodes);
      for (size_t i = 0; i < made.size(); ++i) {
        INFO(NodeLabel(graph, graph.value(made[i]).producer) << " " << candidate.variant);
        CHECK(Difference((*results)[i], values->at(made[i].index()), 1e-5, 1) == "");
        ++compared;
      }
    }
    CHECK(lab.gpu.Violations().empty());
  }
  CHECK(compared > 100);
}

TEST_CASE("CudaIntegerProducts, AQuantisedStretchIsOfferedWholeAndNotInParts", "[cuda]") {
  const WatchedLab lab;
  const auto library = cuda::MakeOwnKernelsLibrary();
  for (const std::string& text : Groups()) {
    INFO(text);
    const Graph graph = ParseInferred(text);
    size_t whole = 0;
    for (const Candidate& candidate :
         library->Candidates(graph, lab.platform, Precision({MathMode::kBf16, MathMode::kFp16}))) {
      const auto has = [&](const char* op) {
        return std::ranges::any_of(candidate.nodes, [&](NodeId node) { return graph.node(node).op == op; });
      };
      // Steps of numbers that were rounded before would be others.
      if (has("DequantizeLinear") || has("QuantizeLinear")) CHECK(candidate.math == MathMode::kFp32);
      whole += candidate.nodes.size() == graph.nodes().size() ? 1 : 0;
      // On its way the stretch is not written as real numbers.
      if (has("DequantizeLinear") && (has("Conv") || has("MatMul") || has("Gemm") || has("AveragePool")))
        CHECK(has("QuantizeLinear"));
    }
    CHECK(whole > 0);
  }
}

TEST_CASE("CudaIntegerProducts, WhatDoesNotFitIsRefusedWithTheReason", "[cuda]") {
  const WatchedLab lab;
  const auto library = cuda::MakeOwnKernelsLibrary();
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"input a uint8[2,40000]\ninput b uint8[40000,2]\ny = MatMulInteger(a, b)\noutput y\n", "32 bits"},
           {"input a uint8[40]\ninput b uint8[40,2]\ny = MatMulInteger(a, b)\noutput y\n", "vector"},
           {"input x float32[4]\nconst s float32[] value 1\nconst z int4[] zeros\ny = QuantizeLinear(x, s, z)\n"
            "output y\n",
            "int4"}}) {
    INFO(text);
    const Graph graph = ParseInferred(text);
    const NodeId node(0u);
    CHECK(library->CandidatesFor(graph, lab.platform, {&node, 1}, {}).empty());
    CHECK(library->WhyUnsupported(graph, node).value_or("").find(reason) != std::string::npos);
  }
}

}  // namespace pt::testing::quantised_test
