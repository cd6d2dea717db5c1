#include "test/cuda/cuda_cases.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace pt::testing {
namespace {

// Each of the nodes makes an output; all are one kernel.
std::string Together(std::string text, const std::vector<std::string>& nodes) {
  std::string outputs;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::string name = "y" + std::to_string(i);
    text += name + " = " + nodes[i] + "\n";
    outputs += "output " + name + "\n";
  }
  return text + outputs;
}

std::string Inputs(const std::string& a, const std::string& b) {
  return "input a float32" + a + "\ninput b float32" + b + "\n";
}

void AddOneInput(std::vector<std::string>& cases) {
  const std::string input = "input x float32[3,5,7]\n";
  cases.push_back(Together(input, {"Abs(x)", "Ceil(x)", "Celu(x) alpha=0.5", "Cos(x)", "Elu(x) alpha=0.7", "Erf(x)",
                                   "Exp(x)", "Floor(x)", "Gelu(x)", "Gelu(x) approximate=\"tanh\"", "HardSigmoid(x)",
                                   "HardSwish(x)", "Identity(x)", "LeakyRelu(x)", "IsNaN(x)"}));
  cases.push_back(
      Together(input, {"Mish(x)", "Neg(x)", "Reciprocal(x)", "Relu(x)", "Round(x)", "Selu(x)", "Sigmoid(x)", "Sign(x)",
                       "Sin(x)", "Softplus(x)", "Softsign(x)", "Tan(x)", "Tanh(x)", "ThresholdedRelu(x) alpha=0.3"}));
  cases.push_back(Together("input x float32[3,5]\na = Abs(x)\n", {"Log(a)", "Sqrt(a)"}));
  for (const char* type : {"int32", "int64"}) {
    cases.push_back(
        Together(std::string("input x ") + type + "[40]\n", {"Abs(x)", "Neg(x)", "Relu(x)", "Sign(x)", "Identity(x)"}));
  }
  cases.push_back(Together("input x bool[40]\n", {"Not(x)", "Identity(x)"}));
  for (const char* from : {"float32", "int32", "int64", "bool"}) {
    cases.push_back(Together(std::string("input x ") + from + "[50]\n",
                             {"Cast(x) to=1", "Cast(x) to=6", "Cast(x) to=7", "Cast(x) to=9"}));
  }
}

void AddTwoInputs(std::vector<std::string>& cases) {
  cases.push_back(
      Together("input x float32[4,6]\ninput z float32[4,6]\nconst two float32[] value 2\nconst e float32[] value 3\n",
               {"Add(x, z)", "Sub(x, z)", "Mul(x, z)", "Div(x, z)", "Max(x, z, two)", "Min(x, z)", "PRelu(x, z)",
                "Less(x, z)", "LessOrEqual(x, z)", "Greater(x, z)", "GreaterOrEqual(x, z)", "Equal(x, x)",
                "Sum(x, z, x)", "Mean(x, z, two)", "Pow(x, two)", "Pow(x, e)"}));
  for (const char* type : {"int32", "int64"}) {
    cases.push_back(
        Together(std::string("input x ") + type + "[40]\ninput z " + type + "[40]\n",
                 {"Add(x, z)", "Sub(x, z)", "Mul(x, z)", "Div(x, z)", "Max(x, z)", "Min(x, z)", "Less(x, z)",
                  "LessOrEqual(x, z)", "Greater(x, z)", "GreaterOrEqual(x, z)", "Equal(x, z)"}));
  }
  cases.push_back(
      Together("input x bool[40]\ninput z bool[40]\n", {"And(x, z)", "Or(x, z)", "Xor(x, z)", "Equal(x, z)"}));
  cases.push_back("input c bool[8,1]\ninput x float32[4]\ninput z float32[]\ny = Where(c, x, z)\noutput y\n");
  for (const char* z : {"[]", "[1]", "[7]", "[5,1]", "[3,1,1]", "[1,5,7]", "[3,1,7]", "[2,3,5,7]", "[2,1,1,1]"}) {
    cases.push_back(std::string("input x float32[3,5,7]\ninput z float32") + z + "\ny = Sub(x, z)\noutput y\n");
  }
}

// What single operators do at the ends of their range, bit for bit.
void AddSpecialNumbers(std::vector<std::string>& cases) {
  cases.push_back(
      Together("input a float32[3]\nzero = Sub(a, a)\nnan = Div(zero, zero)\none = Exp(zero)\nmost = Div(one, zero)\n",
               {"Relu(nan)", "Max(a, nan)", "Max(nan, a)", "Min(nan, a)", "Sign(nan)", "IsNaN(nan)", "Relu(most)",
                "Neg(most)", "Sigmoid(most)", "Less(nan, a)", "Cast(most) to=7", "Cast(nan) to=6", "Tanh(most)"}));
}

std::vector<std::string> PointwiseCases() {
  std::vector<std::string> cases;
  const auto add = [&](const std::string& x, const std::string& w, const std::string& rest) {
    cases.push_back("input x float32" + x + "\nconst w float32" + w + " random 3\n" + rest + "\noutput y\n");
  };
  for (const char* x : {"[1,5,3,4]", "[3,5,3,4]", "[2,5,7]", "[2,5,2,3,2]", "[4,5,1,1]", "[0,5,3,4]"}) {
    std::string w = "[6,5";
    for (size_t i = 2; i < static_cast<size_t>(std::ranges::count(std::string_view(x), ',')) + 1; ++i) w += ",1";
    w += "]";
    add(x, w, "y = Conv(x, w)");
    add(x, w, "const b float32[6] random 4\ny = Conv(x, w, b)");
  }
  const std::string x = "[2,5,3,4]", w = "[6,5,1,1]", b = "const b float32[6] random 4\n";
  add(x, w, b + "p = Conv(x, w, b)\ny = Relu(p)");
  add(x, w, "p = Conv(x, w)\ny = Relu(p)");
  add(x, w, b + "input z float32[2,6,3,4]\np = Conv(x, w, b)\nq = Add(p, z)\ny = Relu(q)");
  add(x, w, "input z float32[2,6,3,4]\np = Conv(x, w)\ny = Add(z, p)");
  add(x, w, "const c float32[1,6,1,1] random 5\np = Conv(x, w)\nq = Add(p, c)\ny = Gelu(q) approximate=\"tanh\"");
  add(x, w,
      "input c float32[6,1,1]\ninput z float32[2,6,3,4]\np = Conv(x, w)\nq = Add(p, c)\nr = Add(q, z)\n"
      "y = Relu(r)");
  add("[1,5,3,4]", "[5,5,1,1]", "p = Conv(x, w) strides=[1,1] pads=[0,0,0,0]\ny = Add(x, p)");
  cases.emplace_back(
      "input x float32[2,5,3,4]\ninput w float32[6,5,1,1]\ninput b float32[6]\ny = Conv(x, w, b)\noutput y\n");
  return cases;
}

}  // namespace

std::vector<std::string> ElementwiseCases() {
  std::vector<std::string> cases;
  AddOneInput(cases);
  AddTwoInputs(cases);
  AddSpecialNumbers(cases);
  cases.push_back(
      "input x float32[2,6]\ninput s float32[6]\nconst w float32[2,6] random 3\n"
      "const k float32[] value 0.5\na = Mul(x, w)\nb = Add(a, s)\nc = Sigmoid(b)\nd = Mul(b, c)\n"
      "y = Sub(d, k)\noutput y\n");
  cases.push_back(
      "input x float32[64]\nconst low float32[] value -0.25\nconst high float32[] value 0.5\n"
      "a = Clip(x, low, high)\ny = Neg(a)\noutput y\noutput a\n");
  cases.push_back("input x float32[0,3]\ny = Relu(x)\noutput y\n");
  cases.push_back("input x float32[]\ny = Exp(x)\noutput y\n");
  cases.push_back("input x float32[600003]\ny = Relu(x)\noutput y\n");  // more elements than threads
  return cases;
}

std::vector<std::string> RowCases() {
  std::vector<std::string> cases;
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    cases.push_back(std::string("input x float32[4,70]\nconst a int64[1] ints 1\ny = ") + op + "(x, a)\noutput y\n");
  }
  for (const char* axes : {"[1] ints 0", "[1] ints -1", "[2] ints 0 2", "[3] ints 0 1 2", "[2] ints 1 3"}) {
    for (const char* keep : {" keepdims=0", " keepdims=1"}) {
      cases.push_back(std::string("input x float32[3,5,2,4]\nconst a int64") + axes + "\ny = ReduceMean(x, a)" + keep +
                      "\noutput y\n");
    }
  }
  for (const char* text : {
           "input x float32[6,300]\ny = ReduceSum(x)\noutput y\n",  // more elements than threads
           "input x float32[1,3,1]\nconst a int64[1] ints 2\ny = ReduceSum(x, a)\noutput y\n",
           "input x float32[2000,3]\nconst a int64[1] ints 1\ny = ReduceSum(x, a)\noutput y\n",
           "input x float32[5,4]\ny = ReduceLogSum(x)\noutput y\n",
           "input x float32[2,3,4,5]\ny = GlobalAveragePool(x)\noutput y\n",
           "input x float32[3,4,9]\ny = Softmax(x)\noutput y\n",
           "input x float32[3,4,9]\ny = Softmax(x) axis=1\noutput y\n",
           "input x float32[2,700]\ny = LogSoftmax(x)\noutput y\n",
           "input x float32[2,1]\ny = Softmax(x)\noutput y\n",
           "input x float32[3,40]\nconst s float32[40] random 3\nconst b float32[40] random 4\n"
           "y = LayerNormalization(x, s, b)\noutput y\n",
           "input x float32[3,4,6]\ninput s float32[6]\ny = LayerNormalization(x, s) axis=1 epsilon=0.01\noutput y\n",
       }) {
    cases.emplace_back(text);
  }
  return cases;
}

std::vector<std::string> MovementCases() {
  std::vector<std::string> cases;
  for (const char* type : {"float32", "int64", "bool"}) {
    cases.push_back(std::string("input x ") + type + "[2,3,4,5]\ny = Transpose(x) perm=[0,2,3,1]\noutput y\n");
  }
  for (const char* text : {"input x float32[2,3,4]\ny = Transpose(x)\noutput y\n",
                           "input x float32[2,3,4]\nconst d int64[2] ints 6 4\ny = Reshape(x, d)\noutput y\n",
                           "input x float32[2,3,4]\ny = Flatten(x) axis=2\noutput y\n",
                           "input x float32[3,1]\nconst d int64[3] ints 2 3 4\ny = Expand(x, d)\noutput y\n",
                           "input x float32[2,3,4]\ninput z float32[2,1,4]\nconst c float32[2,2,4] random 7\n"
                           "y = Concat(x, c, z, x) axis=1\noutput y\n"}) {
    cases.emplace_back(text);
  }
  return cases;
}

std::vector<CaseFamily> OwnKernelCases() {
  return {{"elementwise", ElementwiseCases()},
          {"rows", RowCases()},
          {"movement", MovementCases()},
          {"pooling", PoolingCases()},
          {"slicing", SlicingCases()},
          {"transpose", TransposeCases()},
          {"indexed", IndexedCases()},
          {"pad", PadCases()},
          {"resize", ResizeCases()},
          {"normalization", NormalizationCases()},
          {"lines", LineCases()},
          {"top k", TopKCases()},
          {"attention", AttentionCases()},
          {"recurrent", RecurrentCases()},
          {"types", TypeCases()},
          {"convolution", ConvolutionCases()},
          {"quantisation", QuantisationCases()},
          {"convolutions of integers", IntegerConvolutionCases()},
          {"products of matrices of integers", IntegerMatrixCases()}};
}

std::vector<std::string> ProductCases() {
  std::vector<std::string> cases = PointwiseCases();
  const auto add = [&](const std::string& inputs, const std::string& rest) { cases.push_back(inputs + rest); };
  const std::string plain = "y = MatMul(a, b)\noutput y\n";
  add(Inputs("[5,3]", "[3,4]"), plain);
  add(Inputs("[1,3]", "[3,1]"), plain);
  add(Inputs("[2,5,3]", "[3,4]"), plain);  // one product of ten rows
  add(Inputs("[2,6,5,3]", "[2,6,3,4]"), plain);
  add(Inputs("[5,3]", "[2,3,4]"), plain);
  add(Inputs("[7,1,3]", "[3,4]"), plain);
  add(Inputs("[1,5,3]", "[1,3,4]"), plain);
  add(Inputs("[0,3]", "[3,4]"), plain);
  add(Inputs("[129,77]", "[77,65]"), plain);
  for (const auto& [a, b, attributes] :
       {std::array{"[5,3]", "[3,4]", ""}, std::array{"[3,5]", "[3,4]", " transA=1"},
        std::array{"[5,3]", "[4,3]", " transB=1"}, std::array{"[3,5]", "[4,3]", " transA=1 transB=1"}}) {
    const std::string end = std::string(attributes) + "\noutput y\n", inputs = Inputs(a, b);
    add(inputs, "y = Gemm(a, b) alpha=0.5" + end);
    add(inputs, "const c float32[4] random 3\ny = Gemm(a, b, c)" + end);
    add(inputs, "input c float32[5,4]\ny = Gemm(a, b, c) beta=0.25 alpha=2.0" + end);
  }
  const std::string batch = Inputs("[2,5,3]", "[3,4]");
  add(batch, "const c float32[4] random 3\np = MatMul(a, b)\ny = Add(p, c)\noutput y\n");
  add(batch, "const c float32[1,1,4] random 3\np = MatMul(a, b)\nq = Add(c, p)\ny = Relu(q)\noutput y\n");
  add(batch, "input c float32[2,5,4]\np = MatMul(a, b)\nq = Add(p, c)\ny = Relu(q)\noutput y\n");
  add(batch, "p = MatMul(a, b)\ny = Relu(p)\noutput y\n");
  add(Inputs("[5,3]", "[4,3]"), "const c float32[4] random 3\np = Gemm(a, b, c) transB=1\ny = Relu(p)\noutput y\n");
  add(Inputs("[2,1,5,3]", "[1,6,3,4]"), plain);  // several calls
  add(Inputs("[2,3,1,5,3]", "[2,1,4,3,4]"), plain);
  add(Inputs("[3]", "[3,4]"), plain);
  add(Inputs("[2,5,3]", "[3]"), plain);
  add(Inputs("[3]", "[3]"), plain);
  add(Inputs("[3]", "[2,3,4]"), plain);
  add(Inputs("[5,3]", "[3,4]"), "p = MatMul(a, b)\ny = Gelu(p) approximate=\"tanh\"\noutput y\n");
  add(Inputs("[5,3]", "[3,4]"),
      "const c float32[4] random 3\np = MatMul(a, b)\nq = Add(p, c)\ny = Gelu(q) approximate=\"tanh\"\noutput y\n");
  add("input a float16[5,3]\ninput b float16[3,4]\n", plain);
  add("input a bfloat16[5,3]\nconst b bfloat16[3,4] random 3\n", plain);
  add("input a float32[5,3]\nconst b float32[3,4] random 5\n", plain);
  add("input b float32[3,4]\nconst a float32[5,3] random 5\n", plain);
  return cases;
}

}  // namespace pt::testing
