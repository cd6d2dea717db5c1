// Quantised operators and groups. Scales of products are powers of two, so that the sums of real numbers that the
// reference library makes are exact, and integers are the same whatever the order of roundings.
#include <array>

#include "test/cuda/cuda_cases.h"

namespace pt::testing {
namespace {

// Scales and zero points of every case.
constexpr const char* kParameters =
    "const s float32[] value 0.25\nconst s1 float32[1] value 0.125\nconst sw float32[] value 0.5\n"
    "const sy float32[] value 8\nconst odd float32[] value 0.043\nconst u0 uint8[] value 0\n"
    "const u1 uint8[1] value 7\nconst um uint8[] value 128\nconst i0 int8[] value 0\nconst i1 int8[] value -3\n";

std::string Case(const std::string& text) { return kParameters + text; }

void AddWindows(std::vector<std::string>& cases) {
  struct Window {
    const char *x, *w, *attributes;
  };
  for (const Window& d :
       {Window{"[2,3,9]", "[5,3,3]", "strides=[2] pads=[1,0]"}, Window{"[1,3,8,7]", "[4,3,3,3]", "pads=[1,1,1,1]"},
        Window{"[1,4,9,10]", "[6,4,3,3]", "dilations=[2,3] pads=[2,3,2,3]"}, Window{"[2,8,5,5]", "[40,8,1,1]", ""},
        Window{"[1,40,6,6]", "[72,40,3,3]", "auto_pad=\"SAME_UPPER\" strides=[2,2]"},
        Window{"[1,20,12,12]", "[140,20,1,1]", ""}, Window{"[1,6,8,8]", "[9,2,3,3]", "group=3 pads=[1,1,1,1]"},
        Window{"[1,6,8,8]", "[6,1,3,3]", "group=6 pads=[1,1,1,1]"},
        Window{"[1,6,8,8]", "[12,1,5,3]", "group=6 auto_pad=\"SAME_LOWER\""},
        Window{"[1,2,4,5,6]", "[3,2,2,3,2]", "pads=[1,0,0,1,1,1] strides=[1,2,1]"},
        Window{"[0,2,3,3]", "[4,2,3,3]", ""}}) {
    // Both signs on both sides, zero points in the middle and elsewhere.
    for (const auto& [x, w, zero, weights_zero] :
         {std::array{"uint8", "int8", "u1", "i0"}, std::array{"int8", "uint8", "i0", "um"},
          std::array{"uint8", "uint8", "um", "u1"}, std::array{"int8", "int8", "i1", "i1"}}) {
      cases.push_back(Case(std::string("input x ") + x + d.x + "\nconst w " + w + d.w +
                           " whole 3\nd = " + "DequantizeLinear(x, s, " + zero + ")\nv = DequantizeLinear(w, sw, " +
                           weights_zero + ")\nc = Conv(d, v) " + d.attributes + "\ny = QuantizeLinear(c, sy, " + zero +
                           ")\noutput y\n"));
    }
    cases.push_back(std::string("input x uint8") + d.x + "\ninput w int8" + d.w +
                    "\nconst z uint8[] value 9\ny = ConvInteger(x, w, z) " + d.attributes + "\noutput y\n");
  }
}

}  // namespace

std::vector<std::string> QuantisationCases() {
  std::vector<std::string> cases;
  for (const char* type : {"uint8", "int8", "uint16", "int16"}) {
    const std::string zero = std::string("const z ") + type + "[] value 3\n";
    cases.push_back(Case("input x float32[3,8]\n" + zero + "y = QuantizeLinear(x, odd, z)\noutput y\n"));
    cases.push_back(
        Case(std::string("input x ") + type + "[3,8]\n" + zero + "y = DequantizeLinear(x, odd, z)\noutput y\n"));
    cases.push_back(std::string("input x float32[2,5,3,4]\nconst c float32[5] floats 0.01 0.02 0.03 0.04 0.05\n") +
                    "const z " + type + "[5] ints 1 2 3 4 5\nq = QuantizeLinear(x, c, z) axis=1\n" +
                    "y = DequantizeLinear(q, c, z) axis=-3\noutput y\noutput q\n");
    cases.push_back(std::string("input x float32[6,10]\nconst c float32[6,3] random 3\nconst a float32[] value 4\n") +
                    "const z " + type + "[6,3] random 4\ny = QuantizeLinear(x, c, z) axis=1 block_size=4\noutput y\n");
    cases.push_back(std::string("input x ") + type + "[7,3,4]\nconst c float32[3,3,4] random 3\nconst z " + type +
                    "[3,3,4] random 4\ny = DequantizeLinear(x, c, z) axis=0 block_size=3\noutput y\n");
  }
  for (const char* text :
       {"input x int32[40]\ny = DequantizeLinear(x, odd)\noutput y\n",
        "input x int32[40]\ny = QuantizeLinear(x, odd, i1)\noutput y\n",
        "input x float32[]\ny = QuantizeLinear(x, s1, u1)\noutput y\n",
        "input x float32[0,3]\nq = QuantizeLinear(x, s1, u1)\ny = DequantizeLinear(q, s1, u1)\noutput y\n",
        "input x float16[40]\nconst h float16[] value 0.25\ny = QuantizeLinear(x, h, u1)\noutput y\n",
        "input x uint8[40]\nconst h float16[] value 0.3\ny = DequantizeLinear(x, h, u1)\noutput y\n",
        "input x float32[4,6]\ninput t float32[6]\ninput z int8[6]\ny = QuantizeLinear(x, t, z)\noutput y\n",
        "const w int8[40] whole 3\ny = DequantizeLinear(w, s, i1)\noutput y\n",
        // Groups.
        "input a uint8[1,17,6,6]\ninput b int8[1,17,6,6]\nd = DequantizeLinear(a, s, u1)\n"
        "e = DequantizeLinear(b, s1, i1)\nf = Add(d, e)\ng = Relu(f)\ny = QuantizeLinear(g, sw, u1)\noutput y\n",
        "input a uint8[2,33]\ninput b float32[33]\nd = DequantizeLinear(a, s, um)\ne = Mul(d, b)\n"
        "y = QuantizeLinear(e, odd, i0)\noutput y\n",
        // Averages over powers of two.
        "input x uint8[1,6,8,8]\nd = DequantizeLinear(x, s, u1)\na = AveragePool(d) kernel_shape=[2,2] "
        "strides=[2,2]\ny = QuantizeLinear(a, s1, um)\noutput y\n",
        "input x int8[1,6,8,8]\nd = DequantizeLinear(x, s, i1)\na = AveragePool(d) kernel_shape=[4,4] pads=[1,1,1,1] "
        "count_include_pad=1\nb = Relu(a)\ny = QuantizeLinear(b, s1, i0)\noutput y\n",
        "input x uint8[2,7,4,8]\nd = DequantizeLinear(x, s, um)\na = GlobalAveragePool(d)\n"
        "y = QuantizeLinear(a, s1, u1)\noutput y\n",
        "input x int8[1,3,5,6]\nd = DequantizeLinear(x, s, i1)\ny = AveragePool(d) kernel_shape=[3,2] pads=[1,0,1,1]\n"
        "output y\n",
        "input x float32[3,40]\nq, t, z = DynamicQuantizeLinear(x)\noutput q\noutput t\noutput z\n",
        "input x float32[20003]\nq, t, z = DynamicQuantizeLinear(x)\noutput q\noutput t\noutput z\n",
        "input x float32[0]\nq, t, z = DynamicQuantizeLinear(x)\noutput q\noutput t\noutput z\n",
        "input x float32[7]\nq, t, z = DynamicQuantizeLinear(x)\noutput t\n"}) {
    cases.push_back(Case(text));
  }
  return cases;
}

std::vector<std::string> IntegerConvolutionCases() {
  std::vector<std::string> cases;
  AddWindows(cases);
  const std::string x = "input x uint8[1,6,7,9]\nd = DequantizeLinear(x, s, u1)\n";
  const std::string weights = "const w int8[8,6,3,3] whole 3\n";
  const std::string conv = x + weights +
                           "const b float32[8] ints 1 2 3 4 5 6 7 8\nv = DequantizeLinear(w, sw, i0)\n"
                           "c = Conv(d, v, b) pads=[1,1,1,1]\n";
  const std::string end = "y = QuantizeLinear(e, sy, um)\noutput y\n";
  for (const char* behind :
       {"e = Relu(c)\n", "const l float32[] value 0\nconst h float32[] value 6\ne = Clip(c, l, h)\n",
        "input r uint8[1,8,7,9]\nt = DequantizeLinear(r, s1, u1)\na = Add(c, t)\ne = Relu(a)\n",
        "input r float32[8,1,1]\na = Mul(r, c)\ne = LeakyRelu(a) alpha=0.5\n"}) {
    cases.push_back(Case(conv + behind + end));
  }
  cases.push_back(Case(conv + "output c\n"));
  cases.push_back(Case(conv + "y = QuantizeLinear(c, sy)\noutput y\n"));
  // By channel: scales, zero points, and those of the result.
  cases.push_back(Case(x + weights +
                       "const k float32[8] floats 0.5 0.25 1 2 0.5 0.25 1 2\nconst z int8[8] ints 0 1 -2 3 0 1 -2 3\n"
                       "v = DequantizeLinear(w, k, z) axis=0\nc = Conv(d, v) pads=[0,1,1,0]\n"
                       "const q float32[8] floats 8 4 16 32 8 4 16 32\ny = QuantizeLinear(c, q) axis=1\noutput y\n"));
  cases.push_back(
      Case("input x int8[1,6,5,5]\nd = DequantizeLinear(x, s, i1)\nconst w int8[6,1,3,3] whole 3\n"
           "const k float32[6] floats 0.5 0.25 1 2 0.5 0.25\nconst z int8[6] ints 0 1 -2 3 0 1\n"
           "v = DequantizeLinear(w, k, z) axis=0\nc = Conv(d, v) group=6 pads=[1,1,1,1]\n"
           "y = QuantizeLinear(c, sy, i1)\noutput y\n"));
  for (const char* transposed : {"const w int8[6,4,2,2] whole 3\nv = DequantizeLinear(w, sw, i0)\nc = "
                                 "ConvTranspose(d, v) strides=[2,2]\n",
                                 "const w uint8[6,4,3,3] whole 3\nconst k float32[4] floats 0.5 0.25 1 2\n"
                                 "v = DequantizeLinear(w, k) axis=1\nc = ConvTranspose(d, v) pads=[1,1,1,1]\n"}) {
    cases.push_back(Case(x + transposed + "y = QuantizeLinear(c, sy, um)\noutput y\n"));
  }
  // Parameters that only the run knows, and results by a scale of their own.
  const std::string run = "input x uint8[1,6,7,9]\ninput xs float32[]\ninput xz uint8[]\n" + weights +
                          "input ws float32[8]\ninput wz int8[8]\ninput ys float32[]\ninput yz uint8[]\n";
  cases.push_back(run +
                  "input b int32[8]\ny = QLinearConv(x, xs, xz, w, ws, wz, ys, yz, b) pads=[1,1,1,1]\noutput y\n");
  cases.push_back(run + "y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz) strides=[2,2]\noutput y\n");
  cases.push_back(Case(x + "input r uint8[9,6,1,1]\nv = DequantizeLinear(r, sw, u1)\nc = Conv(d, v)\noutput c\n"));
  cases.push_back("input x uint8[1,6,7,9]\ninput z uint8[]\n" + weights +
                  "input k float32[]\nc = ConvInteger(x, w, z)\nf = Cast(c) to=1\ny = Mul(f, k)\noutput y\n");
  return cases;
}

std::vector<std::string> IntegerMatrixCases() {
  std::vector<std::string> cases;
  for (const auto& [a, b] :
       {std::array{"[5,3]", "[3,4]"}, std::array{"[1,70]", "[70,33]"}, std::array{"[2,5,19]", "[19,7]"},
        std::array{"[2,3,5,8]", "[2,3,8,6]"}, std::array{"[2,1,5,8]", "[3,8,6]"}, std::array{"[5,8]", "[2,8,6]"},
        std::array{"[0,3]", "[3,4]"}, std::array{"[129,77]", "[77,65]"}, std::array{"[4,300]", "[300,40]"}}) {
    cases.push_back(std::string("input a uint8") + a + "\ninput b int8" + b +
                    "\ninput z uint8[]\ninput k int8[]\ny = MatMulInteger(a, b, z, k)\noutput y\n");
    cases.push_back(std::string("input a int8") + a + "\ninput b uint8" + b + "\ny = MatMulInteger(a, b)\noutput y\n");
    cases.push_back(Case(std::string("input a uint8") + a + "\ninput b uint8" + b +
                         "\nd = DequantizeLinear(a, s, u1)\ne = DequantizeLinear(b, sw, um)\nc = MatMul(d, e)\n"
                         "y = QuantizeLinear(c, sy, i1)\noutput y\n"));
    cases.push_back(std::string("input a int8") + a + "\ninput b int8" + b +
                    "\ninput as float32[]\ninput az int8[]\ninput bs float32[]\ninput bz int8[]\ninput ys float32[]\n"
                    "input yz int8[]\ny = QLinearMatMul(a, as, az, b, bs, bz, ys, yz)\noutput y\n");
  }
  cases.push_back(
      "input a uint8[5,19]\ninput b int8[19,7]\ninput z uint8[5]\ninput k int8[7]\ny = MatMulInteger(a, b, z, k)\n"
      "output y\n");
  const std::string a = "input a uint8[5,19]\nd = DequantizeLinear(a, s, u1)\n";
  cases.push_back(
      Case(a + "const w int8[19,4] whole 3\nconst k float32[4] floats 0.5 0.25 1 2\nconst z int8[4] ints 0 1 -2 "
               "3\nv = DequantizeLinear(w, k, z) axis=1\nconst b float32[4] ints 1 2 3 4\nc = MatMul(d, v)\n"
               "e = Add(c, b)\nf = Relu(e)\ny = QuantizeLinear(f, sy, u1)\noutput y\n"));
  for (const auto& [left, right, attributes] :
       {std::array{"[5,19]", "[19,4]", ""}, std::array{"[19,5]", "[4,19]", "transA=1 transB=1 alpha=0.5 beta=2.0"},
        std::array{"[5,19]", "[4,19]", "transB=1"}}) {
    const std::string axis = std::string(attributes).find("transB") == std::string::npos ? "1" : "0";
    const std::string sides = std::string("input a uint8") + left + "\nd = DequantizeLinear(a, s, u1)\nconst w int8" +
                              right + " whole 3\nconst k float32[4] floats 0.5 0.25 1 2\nv = DequantizeLinear(w, k) " +
                              "axis=" + axis + "\n";
    const std::string end = std::string(attributes) + "\ny = QuantizeLinear(c, sy, i1)\noutput y\n";
    cases.push_back(Case(sides + "c = Gemm(d, v) " + end));
    cases.push_back(Case(sides + "const b float32[4] ints 1 2 3 4\nc = Gemm(d, v, b) " + end));
    cases.push_back(
        Case(sides + "input b float32[5,1]\nc = Gemm(d, v, b) " + std::string(attributes) + "\noutput c\n"));
  }
  cases.push_back(
      "input a uint8[3,40]\ninput z uint8[]\ninput t float32[]\nconst w int8[40,9] whole 3\n"
      "const k float32[9] random 4\nconst b float32[9] random 5\nc = MatMulInteger(a, w, z)\nf = Cast(c) to=1\n"
      "g = Mul(f, t)\nh = Mul(g, k)\ny = Add(h, b)\noutput y\n");
  return cases;
}

}  // namespace pt::testing
