// The ends of the numbers: what elementwise kernels of every library, alone and behind a product, make of infinities,
// NaN, zeros, denormals and the largest numbers is what the reference library makes of them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/backend/nan.h"
#include "test/testing/check_case.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing::extremes_test {
namespace {

using Limits = std::numeric_limits<float>;

const std::vector<float> kExtremes = {Limits::infinity(),
                                      -Limits::infinity(),
                                      0.0F,
                                      -0.0F,
                                      Limits::denorm_min(),
                                      -Limits::denorm_min(),
                                      1e-40F,
                                      -1e-40F,
                                      Limits::min(),
                                      -Limits::min(),
                                      Limits::max(),
                                      Limits::lowest(),
                                      1e30F,
                                      -1e30F,
                                      1e13F,
                                      -1e13F,
                                      1e5F,
                                      -1e5F,
                                      88.9F,
                                      -88.9F,
                                      60,
                                      -60,
                                      20,
                                      -20,
                                      8.5F,
                                      -8.5F,
                                      1,
                                      -1,
                                      0.5F,
                                      -0.5F,
                                      Limits::quiet_NaN(),
                                      2.5F};

// Nodes that make y of z, which has as many elements as kExtremes in its last dim.
std::vector<std::string> Functions() {
  std::vector<std::string> nodes;
  for (const char* op :
       {"Abs",     "Acos", "Acosh",    "Asin",       "Asinh", "Atan",        "Ceil",      "Celu",
        "Elu",     "Erf",  "Exp",      "Floor",      "Gelu",  "HardSigmoid", "HardSwish", "LeakyRelu",
        "Log",     "Mish", "Neg",      "Reciprocal", "Relu",  "Round",       "Selu",      "Shrink",
        "Sigmoid", "Sign", "Softplus", "Softsign",   "Sqrt",  "Swish",       "Tanh",      "ThresholdedRelu"}) {
    nodes.push_back(std::string("y = ") + op + "(z)\n");
  }
  for (const char* node :
       {"Gelu(z) approximate=\"tanh\"", "Celu(z) alpha=2.0", "Elu(z) alpha=0.5", "Elu(z) alpha=-1.5",
        "LeakyRelu(z) alpha=-2.0", "LeakyRelu(z) alpha=0.0", "Swish(z) alpha=1.702", "Swish(z) alpha=-1.0",
        "Swish(z) alpha=0.0", "HardSigmoid(z) alpha=-0.3 beta=0.2", "Selu(z) alpha=0.3 gamma=-2.0"}) {
    nodes.push_back(std::string("y = ") + node + "\n");
  }
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "PRelu"}) {
    for (const char* operand : {"0", "2", "-3", "0.5", "-0.5", "1e-30"}) {
      nodes.push_back(std::string("const p float32[] value ") + operand + "\ny = " + op + "(z, p)\n");
      if (std::string(op) != "PRelu") {
        nodes.push_back(std::string("const p float32[] value ") + operand + "\ny = " + op + "(p, z)\n");
      }
    }
  }
  const std::string half = "const half float32[] value 0.5\nconst one float32[] value 1\n";
  nodes.push_back("const a float32[] value -0.5\nconst b float32[] value 0.5\ny = Clip(z, a, b)\n");
  nodes.push_back("const a float32[] value 0\ny = Clip(z, a)\n");
  nodes.push_back("const b float32[] value 6\ny = Clip(z, _, b)\n");
  nodes.push_back("s = Sigmoid(z)\ny = Mul(z, s)\n");
  nodes.push_back("s = Softplus(z)\nt = Tanh(s)\ny = Mul(z, t)\n");
  nodes.push_back(half +
                  "const r float32[] value 0.70710678\na = Mul(z, r)\ne = Erf(a)\nf = Add(e, one)\n"
                  "g = Mul(z, f)\ny = Mul(g, half)\n");
  nodes.push_back(half +
                  "const r float32[] value 1.41421356\na = Div(z, r)\ne = Erf(a)\nf = Add(e, one)\n"
                  "g = Mul(z, half)\ny = Mul(g, f)\n");
  nodes.push_back(half +
                  "const three float32[] value 3\nconst c float32[] value 0.044715\n"
                  "const r float32[] value 0.79788456\na = Pow(z, three)\nb = Mul(a, c)\nd = Add(z, b)\n"
                  "e = Mul(d, r)\nf = Tanh(e)\ng = Add(f, one)\nh = Mul(z, g)\ny = Mul(h, half)\n");
  nodes.push_back(
      "const a float32[] value 3\nconst n float32[] value 0\nconst b float32[] value 6\np = Add(z, a)\n"
      "c = Clip(p, n, b)\ny = Div(c, b)\n");
  nodes.push_back(
      "const a float32[] value 3\nconst n float32[] value 0\nconst b float32[] value 6\np = Add(z, a)\n"
      "c = Clip(p, n, b)\nd = Mul(z, c)\ny = Div(d, b)\n");
  nodes.push_back("p = Exp(z)\ny = Neg(p)\n");
  return nodes;
}

// What makes z of the graph's input: nothing, and products of one number each with 1, which leave all as they are.
const char* const kSources[] = {
    "input z float32[3,32]\n",
    "input x float32[32,1]\nconst w float32[1,32] value 1\nz = MatMul(x, w)\n",
    "input x float32[32,1]\nconst w float32[17,1] value 1\nz = Gemm(x, w) transB=1\n",
    "input x float32[1,1,4,8]\nconst w float32[16,1,1,1] value 1\nz = Conv(x, w)\n",
    "input x float32[1,16,2,32]\nconst w float32[16,1,1,1] value 1\nz = Conv(x, w) group=16\n",
    "input x float32[1,1,4,8]\nconst w float32[1,16,1,1] value 1\nz = ConvTranspose(x, w)\n",
};

Tensor Extremes(const Tensor& like) {
  std::vector<float> elements(like.values<float>().size());
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = kExtremes[i % kExtremes.size()];
  return Tensor::Float32(like.dims(), elements);
}

// Where functions are made of several operations, a number may overflow on the way or not: 1e37 and more are one.
double Bounded(float x) { return std::clamp(double{x}, -1e37, 1e37); }

// The first element that differs. z: what y is made of. Of denormals nothing is left but that they are small; the sign
// of zero is free.
std::string FirstDifference(const Tensor& actual, const Tensor& expected, const Tensor& z, bool compare_nan) {
  const auto got = actual.values<float>(), want = expected.values<float>(), of = z.values<float>();
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]) && (std::isnan(got[i]) || !compare_nan)) continue;
    const bool same = std::isinf(of[i]) && std::isinf(want[i])
                          ? want[i] == got[i]
                          : std::fabs(Bounded(got[i]) - Bounded(want[i])) <= 1e-6 + 1e-4 * std::fabs(Bounded(want[i]));
    if (!same) {
      return std::to_string(of[i]) + " becomes " + std::to_string(got[i]) + ", expected " + std::to_string(want[i]);
    }
  }
  return "";
}

// What z, an input or a product, is.
Tensor Middle(const Graph& graph, const std::vector<Tensor>& values) {
  for (const Value& value : graph.values()) {
    if (value.name == "z") return values[static_cast<size_t>(&value - graph.values().data())];
  }
  return {};
}

}  // namespace

TEST_CASE("Conformance, ElementwiseKernelsAgreeAtTheEndsOfTheNumbers", "[conformance]") {
  const Platform platform = MakeTestPlatform(2, false);
  std::vector<std::unique_ptr<Library>> libraries;
  for (const LibraryRow& row : BuiltInLibraries()) libraries.push_back(row.make());
  std::map<std::string, size_t> checked;
  std::string faults;
  for (const char* source : kSources) {
    for (const std::string& function : Functions()) {
      const std::string text = source + function + "output y\n";
      INFO(text);
      const Graph graph = LoadCase({"", text.c_str()});
      std::vector<Tensor> inputs = RandomInputs(graph);
      for (Tensor& input : inputs) input = Extremes(input);
      const auto values = EvaluateGraph(graph, inputs);
      REQUIRE(values.ok());
      const ValueId y = graph.outputs()[0];
      for (const Candidate& candidate : EnumerateCandidates(graph, platform, libraries)) {
        const auto library =
            std::ranges::find_if(libraries, [&](const auto& l) { return l->name() == candidate.library; });
        REQUIRE(library != libraries.end());
        const std::vector<ValueId> made = GroupOutputs(graph, candidate.nodes);
        if (made.size() != 1 || made[0] != y || candidate.library == "reference") continue;
        std::vector<Tensor> in;
        for (const ValueId id : GroupInputs(graph, candidate.nodes)) in.push_back((*values)[id.index()]);
        const auto results =
            RunCandidate(graph, platform, **library, candidate, in, platform.unit_class(candidate.unit_class).cores);
        REQUIRE(results.ok());
        ++checked[candidate.library];
        const std::string difference = FirstDifference((*results)[0], (*values)[y.index()], Middle(graph, *values),
                                                       KeepsNan(**library, graph, candidate));
        if (!difference.empty()) faults += text + "  " + Describe(graph, candidate) + ": " + difference + "\n";
      }
    }
  }
  INFO(faults);
  CHECK(faults.empty());
  for (const auto& [name, count] : checked) CHECK(count > 100);
}

}  // namespace pt::testing::extremes_test
