// LayerNormalization and RMSNormalization whose scale and bias broadcast to their input, also along the dims before the
// normalised ones, over every library.
#include <catch2/catch_test_macros.hpp>

#include "test/testing/check_case.h"
#include "test/testing/evaluate_graph.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing::normalization_test {
namespace {

struct Shapes {
  const char *input, *axis, *scale, *bias;
};

// What scales and shifts by itself, and the same with a product and a sum behind it.
void CheckEqualsProductAndSum(const Shapes& shapes, bool centred, bool constant) {
  const std::string start = std::string("input x float32") + shapes.input + "\n";
  const auto operand = [&](const char* name, const char* dims) {
    return std::string(constant ? "const " : "input ") + name + " float32" + dims + (constant ? " random 3\n" : "\n");
  };
  const std::string operands = operand("s", shapes.scale) + (centred ? operand("b", shapes.bias) : "");
  const std::string op = centred ? "LayerNormalization" : "RMSNormalization";
  const std::string axis = std::string(" axis=") + shapes.axis + "\n";
  const std::string whole = start + operands + "y = " + op + (centred ? "(x, s, b)" : "(x, s)") + axis + "output y\n";
  const std::string apart = start + operands + "const one float32[1] value 1\nn = " + op + "(x, one)" + axis +
                            (centred ? "m = Mul(n, s)\ny = Add(m, b)\n" : "y = Mul(n, s)\n") + "output y\n";
  INFO(whole);
  const Graph graph = LoadCase({"", whole.c_str()}), other = LoadCase({"", apart.c_str()});
  const std::vector<Tensor> inputs = RandomInputs(graph);
  const auto got = EvaluateGraph(graph, inputs), want = EvaluateGraph(other, inputs);
  REQUIRE(got.ok());
  REQUIRE(want.ok());
  CHECK(Difference(OutputsOf(graph, *got)[0], OutputsOf(other, *want)[0], 1e-6) == "");
  CheckedCandidates checked;
  CheckGraph(graph, inputs, MakeTestPlatform(2, false), Precision(), checked);
}

}  // namespace

// A scale of as many elements as a row may still be another one for each row.
TEST_CASE("Conformance, NormalizationsBroadcastScaleAndBiasToTheirInput", "[conformance]") {
  for (const Shapes& shapes : {Shapes{"[4,4]", "1", "[4,1]", "[4]"}, Shapes{"[4,4]", "1", "[4]", "[4,1]"},
                               Shapes{"[4,4]", "0", "[4,1]", "[1,4]"}, Shapes{"[2,3,4]", "-1", "[2,3,4]", "[3,1]"},
                               Shapes{"[2,3,4]", "-1", "[3,4]", "[2,1,4]"}, Shapes{"[2,3,4]", "-1", "[]", "[1]"},
                               Shapes{"[2,3,4]", "1", "[2,1,1]", "[2,3,1]"}, Shapes{"[2,3,4]", "1", "[3,1]", "[1,3,4]"},
                               Shapes{"[5,20]", "1", "[1,20]", "[1,20]"}}) {
    for (const bool centred : {true, false}) {
      for (const bool constant : {true, false}) CheckEqualsProductAndSum(shapes, centred, constant);
    }
  }
}

}  // namespace pt::testing::normalization_test
