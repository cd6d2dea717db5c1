// Quantised stretches on the libraries that compute on integers: every candidate against the reference library, within
// one unit of what is quantised, over random data and the ends of the ranges.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/platform/discover.h"
#include "test/testing/check_case.h"
#include "test/testing/test_machine.h"

namespace pt::testing::integers_test {
namespace {

// Of every case: q, r: two quantised inputs; u, v: scales and zero points; unsigned and signed, whole and by channel.
constexpr std::string_view kParameters =
    "const s1 float32[] value 0.043\nconst s2 float32[1] value 0.0191\nconst s3 float32[] value 0.21\n"
    "const sw float32[] value 0.0173\nconst u0 uint8[] value 0\nconst u1 uint8[1] value 131\nconst u2 uint8[] value "
    "255\n"
    "const i0 int8[] value 0\nconst i1 int8[] value -128\nconst i2 int8[1] value 37\nconst um uint8[] value 128\n";

constexpr std::array kCases = {
    Case{"convolution 3x3, padded, zero point in the middle",
         "input x uint8[1,16,9,9]\nconst w int8[32,16,3,3] whole 1\nconst b float32[32] random 2\n"
         "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, sw, i0)\n"
         "y = Conv(d, v, b) pads=[1,1,1,1]\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"convolution of int8, zero point at the low end, odd channels",
         "input x int8[2,7,11,5]\nconst w int8[13,7,3,3] whole 1\nd = DequantizeLinear(x, s1, i1)\n"
         "v = DequantizeLinear(w, sw, i0)\ny = Conv(d, v) pads=[1,2,0,1] strides=[2,1]\n"
         "q = QuantizeLinear(y, s3, i2)\noutput q\n"},
    Case{"convolution, zero point at the high end, real numbers out",
         "input x uint8[1,5,8,8]\nconst w int8[6,5,3,3] whole 1\nd = DequantizeLinear(x, s1, u2)\n"
         "v = DequantizeLinear(w, sw, i0)\ny = Conv(d, v) pads=[1,1,1,1] dilations=[2,1]\noutput y\n"},
    Case{"convolution, scales by channel, relu",
         "input x uint8[1,8,6,6]\nconst w int8[12,8,3,3] whole 1\nconst b float32[12] random 2\n"
         "const c float32[12] floats 0.01 0.02 0.03 0.005 0.01 0.02 0.03 0.005 0.01 0.02 0.03 0.1\n"
         "d = DequantizeLinear(x, s1, u0)\nv = DequantizeLinear(w, c) axis=0\n"
         "y = Conv(d, v, b) pads=[1,1,1,1]\nz = Relu(y)\nq = QuantizeLinear(z, s3, u0)\noutput q\n"},
    Case{"convolution, weights of uint8",
         "input x uint8[1,8,6,6]\nconst w uint8[12,8,1,1] whole 1\nd = DequantizeLinear(x, s1, u1)\n"
         "v = DequantizeLinear(w, sw, um)\ny = Conv(d, v)\nq = QuantizeLinear(y, s3, i0)\noutput q\n"},
    Case{"convolution, depthwise, clip",
         "input x uint8[1,24,13,13]\nconst w int8[24,1,5,5] whole 1\nconst b float32[24] random 3\n"
         "const lo float32[] value 0\nconst hi float32[] value 6\n"
         "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, sw, i0)\n"
         "y = Conv(d, v, b) group=24 pads=[2,2,2,2] strides=[2,2]\nz = Clip(y, lo, hi)\n"
         "q = QuantizeLinear(z, s2, u0)\noutput q\n"},
    Case{"convolution, depthwise of int8, by channel",
         "input x int8[1,19,7,9]\nconst w int8[19,1,3,3] whole 1\nconst c float32[19] ones\n"
         "d = DequantizeLinear(x, s1, i2)\nv = DequantizeLinear(w, c) axis=0\n"
         "y = Conv(d, v) group=19 pads=[1,1,1,1]\nq = QuantizeLinear(y, s3, i0)\noutput q\n"},
    Case{"convolution, groups, by channel",
         "input x uint8[1,12,8,8]\nconst w int8[18,4,3,3] whole 1\nconst c float32[18] ones\n"
         "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, c) axis=0\n"
         "y = Conv(d, v) group=3 pads=[1,1,1,1]\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"convolution of one channel, kernel of even size",
         "input x int8[1,1,49,10]\nconst w int8[16,1,8,8] whole 1\nconst b float32[16] random 2\n"
         "d = DequantizeLinear(x, s1, i0)\nv = DequantizeLinear(w, sw, i0)\n"
         "y = Conv(d, v, b) pads=[3,3,4,4]\nq = QuantizeLinear(y, s3, i1)\noutput q\n"},
    Case{"convolution of one channel into one column",
         "input x uint8[1,1,12,6]\nconst w int8[4,1,3,3] whole 1\nd = DequantizeLinear(x, s1, u1)\n"
         "v = DequantizeLinear(w, sw, i0)\ny = Conv(d, v) strides=[2,5]\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"convolution of several channels into one column",
         "input x uint8[1,4,9,3]\nconst w int8[4,4,3,3] whole 1\nd = DequantizeLinear(x, s1, u1)\n"
         "v = DequantizeLinear(w, sw, i0)\ny = Conv(d, v) strides=[1,2]\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"element-wise behind a convolution whose channels do not fill a block",
         "input x float32[1,12,5,4]\nconst w float32[24,12,1,1] random 1\ny = Conv(x, w)\ng = Sigmoid(y)\n"
         "m = Mul(y, g)\na = Add(y, g)\nq = QuantizeLinear(m, s2, i2)\nr = QuantizeLinear(a, s2, u1)\n"
         "output q\noutput r\n"},
    Case{"convolution to one channel",
         "input x uint8[1,8,12,6]\nconst w int8[1,8,3,3] whole 1\nd = DequantizeLinear(x, s1, u1)\n"
         "v = DequantizeLinear(w, sw, i0)\ny = Conv(d, v) pads=[1,1,1,1]\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"convolutions of the same weights, each with other sums behind them",
         "input x uint8[1,16,9,9]\ninput s int8[1,16,9,9]\nconst w int8[32,16,3,3] whole 1\n"
         "a = DequantizeLinear(x, s1, u1)\nb = DequantizeLinear(x, s1, u0)\nc = DequantizeLinear(s, s1, i0)\n"
         "d = DequantizeLinear(s, s1, i2)\nva = DequantizeLinear(w, sw, i0)\nvb = DequantizeLinear(w, sw, i0)\n"
         "vc = DequantizeLinear(w, sw, i0)\nvd = DequantizeLinear(w, sw, i0)\n"
         "ya = Conv(a, va)\nyb = Conv(b, vb)\nyc = Conv(c, vc)\n"
         "yd = Conv(d, vd)\noutput ya\noutput yb\noutput yc\noutput yd\n"},
    Case{"convolution, 1-d and long",
         "input x int8[2,5,170]\nconst w int8[6,5,9] whole 1\nd = DequantizeLinear(x, s1, i2)\n"
         "v = DequantizeLinear(w, sw, i0)\ny = Conv(d, v) pads=[4,4]\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"convolution, 3-d",
         "input x uint8[1,3,5,6,7]\nconst w int8[4,3,3,3,3] whole 1\nd = DequantizeLinear(x, s1, u1)\n"
         "v = DequantizeLinear(w, sw, i0)\ny = Conv(d, v) pads=[1,1,1,1,1,1]\nq = QuantizeLinear(y, s3, u1)\noutput "
         "q\n"},
    Case{"convolution, residual of integers, relu",
         "input x uint8[1,16,8,8]\ninput r uint8[1,24,8,8]\nconst w int8[24,16,1,1] whole 1\nconst b float32[24] "
         "random 2\n"
         "d = DequantizeLinear(x, s1, u0)\nv = DequantizeLinear(w, sw, i0)\ne = DequantizeLinear(r, s2, u1)\n"
         "y = Conv(d, v, b)\na = Add(y, e)\nz = Relu(a)\nq = QuantizeLinear(z, s3, u0)\noutput q\n"},
    Case{"convolution, residual of the other sign",
         "input x uint8[1,16,8,8]\ninput r int8[1,24,8,8]\nconst w int8[24,16,3,3] whole 1\n"
         "d = DequantizeLinear(x, s1, u0)\nv = DequantizeLinear(w, sw, i0)\ne = DequantizeLinear(r, s2, i2)\n"
         "y = Conv(d, v) pads=[1,1,1,1]\na = Add(e, y)\nq = QuantizeLinear(a, s3, u1)\noutput q\n"},
    Case{"convolution, hard swish and sigmoid",
         "input x uint8[1,8,6,6]\nconst w int8[16,8,1,1] whole 1\nconst z int8[16,16,1,1] whole 2\n"
         "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, sw, i0)\n"
         "y = Conv(d, v)\nh = HardSwish(y)\nq = QuantizeLinear(h, s3, u0)\n"
         "e = DequantizeLinear(q, s3, u0)\nk = DequantizeLinear(z, sw, i0)\nc = Conv(e, k)\ng = Sigmoid(c)\n"
         "p = QuantizeLinear(g, sw, u0)\noutput p\n"},
    Case{"convolution of integers that no kernel takes, weights as real numbers",
         "input x uint8[1,8,6,6]\nconst w int8[12,8,3,3] whole 1\n"
         "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, sw, i2)\ny = Conv(d, v) pads=[1,1,1,1]\n"
         "z = Relu(y)\noutput z\n"},
    Case{"gemm of real numbers with integer weights",
         "input x float32[4,20]\nconst w uint8[10,20] whole 1\nconst c float32[10] random 4\nconst h float32[10] ones\n"
         "v = DequantizeLinear(w, h) axis=0\ny = Gemm(x, v, c) transB=1\nz = Relu(y)\noutput z\n"},
    Case{"transposed convolution",
         "input x uint8[1,6,5,5]\nconst w int8[6,4,2,2] whole 1\nconst b float32[4] random 2\n"
         "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, sw, i0)\n"
         "y = ConvTranspose(d, v, b) strides=[2,2]\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"transposed convolution, padded, by channel",
         "input x int8[1,6,5,5]\nconst w int8[6,4,3,3] whole 1\nconst c float32[4] floats 0.01 0.02 0.03 0.04\n"
         "d = DequantizeLinear(x, s1, i2)\nv = DequantizeLinear(w, c) axis=1\n"
         "y = ConvTranspose(d, v) strides=[2,2] pads=[1,1,1,1]\nq = QuantizeLinear(y, s3, i0)\noutput q\n"},
    Case{"matmul, bias, relu",
         "input x uint8[5,16]\nconst w int8[16,12] whole 1\nconst b float32[12] random 2\n"
         "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, sw, i0)\n"
         "y = MatMul(d, v)\na = Add(y, b)\nz = Relu(a)\nq = QuantizeLinear(z, s3, u0)\noutput q\n"},
    Case{"matmul, one row of int8, by column",
         "input x int8[1,480]\nconst w int8[480,33] whole 1\nconst c float32[33] ones\n"
         "d = DequantizeLinear(x, s1, i1)\nv = DequantizeLinear(w, c) axis=1\n"
         "y = MatMul(d, v)\nq = QuantizeLinear(y, s3, i2)\noutput q\n"},
    Case{"matmul of two inputs, real numbers out",
         "input x uint8[3,2,5,8]\ninput w int8[3,2,8,6]\nd = DequantizeLinear(x, s1, u1)\n"
         "v = DequantizeLinear(w, sw, i2)\ny = MatMul(d, v)\noutput y\n"},
    Case{"matmul, stack times a matrix with a zero point",
         "input x uint8[3,5,19]\nconst w int8[19,7] whole 1\nd = DequantizeLinear(x, s1, u1)\n"
         "v = DequantizeLinear(w, sw, i2)\ny = MatMul(d, v)\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"integer matmul, zero points of both sides",
         "input x uint8[3,5,19]\nconst w int8[19,7] whole 1\ny = MatMulInteger(x, w, u1, i2)\noutput y\n"},
    Case{"integer matmul, equal zero points of columns",
         "input x uint8[3,5,19]\nconst w int8[19,7] whole 1\nconst k int8[7] value 5\ny = MatMulInteger(x, w, u1, k)\n"
         "output y\n"},
    Case{"integer matmul, zero points that differ by row and column",
         "input x uint8[5,19]\nconst w int8[19,7] whole 1\ninput z uint8[5]\nconst k int8[7] whole 2\n"
         "y = MatMulInteger(x, w, z, k)\noutput y\n"},
    Case{"integer convolution, zero point known in the run",
         "input x uint8[1,8,9,9]\nconst w int8[12,8,3,3] whole 1\ninput z uint8[]\n"
         "y = ConvInteger(x, w, z, i0) pads=[1,1,1,1]\noutput y\n"},
    Case{"integer matmul, zero point known in the run, weights of uint8",
         "input x uint8[5,64]\ninput z uint8[]\nconst w uint8[64,33] whole 1\n"
         "y = MatMulInteger(x, w, z, u2)\noutput y\n"},
    Case{"integer matmul of two inputs of int8",
         "input x int8[2,3,5,8]\ninput w int8[2,3,8,6]\ny = MatMulInteger(x, w)\noutput y\n"},
    Case{"dynamic quantisation",
         "input x float32[5,64]\nconst w int8[64,33] whole 1\nq, s, z = DynamicQuantizeLinear(x)\n"
         "y = MatMulInteger(q, w, z)\nc = Cast(y) to=1\na = Mul(c, s)\noutput a\n"},
    Case{"gemm, transposed, bias",
         "input x uint8[4,20]\nconst w int8[10,20] whole 1\nconst b float32[10] random 2\nconst c float32[10] ones\n"
         "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, c) axis=0\n"
         "y = Gemm(d, v, b) transB=1\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"gemm, scaled",
         "input x uint8[4,20]\nconst w uint8[20,10] whole 1\nconst b float32[10] random 2\n"
         "d = DequantizeLinear(x, s1, u1)\nv = DequantizeLinear(w, sw, um)\n"
         "y = Gemm(d, v, b) alpha=0.5 beta=2.0\nq = QuantizeLinear(y, s3, u1)\noutput q\n"},
    Case{"sum of two",
         "input x uint8[1,17,6,6]\ninput r int8[1,17,6,6]\nd = DequantizeLinear(x, s1, u1)\n"
         "e = DequantizeLinear(r, s2, i2)\na = Add(d, e)\nz = Relu(a)\nq = QuantizeLinear(z, s3, u1)\noutput q\n"},
    Case{"difference of two",
         "input x uint8[2,33]\ninput r uint8[2,33]\nd = DequantizeLinear(x, s1, u1)\n"
         "e = DequantizeLinear(r, s2, u2)\na = Sub(d, e)\nq = QuantizeLinear(a, s3, i0)\noutput q\n"},
    Case{"product of two without zero points, of one with",
         "input x uint8[1,17,6,6]\ninput r uint8[1,17,1,1]\nd = DequantizeLinear(x, s1, u1)\n"
         "e = DequantizeLinear(r, s2, u0)\na = Mul(d, e)\nq = QuantizeLinear(a, s3, u1)\n"
         "f = DequantizeLinear(q, s3, u1)\ng = DequantizeLinear(r, s2, u1)\nb = Mul(f, g)\n"
         "p = QuantizeLinear(b, s3, u1)\noutput p\n"},
    Case{"sum with a constant row",
         "input x int8[1,32]\nconst b float32[32] random 1\nd = DequantizeLinear(x, s1, i2)\na = Add(d, b)\n"
         "q = QuantizeLinear(a, s3, i1)\noutput q\n"},
    Case{"sum of integers and a real tensor",
         "input x float32[1,17,6,6]\ninput r uint8[1,17,6,6]\ne = DequantizeLinear(r, s2, u1)\n"
         "a = Add(x, e)\nq = QuantizeLinear(a, s3, u1)\noutput q\n"},
    Case{"maximum, with a broadcast operand of integers",
         "input x uint8[1,17,6,6]\ninput r uint8[1,17,1,1]\nd = DequantizeLinear(x, s1, u1)\n"
         "e = DequantizeLinear(r, s2, u1)\na = Max(d, e)\nq = QuantizeLinear(a, s3, u1)\noutput q\n"},
    Case{"activations",
         "input x uint8[1,8,5,7]\nd = DequantizeLinear(x, s1, u1)\na = HardSwish(d)\nb = Tanh(a)\n"
         "q = QuantizeLinear(b, sw, i0)\noutput q\n"},
    Case{"average pool, other scale",
         "input x uint8[2,6,8,8]\nd = DequantizeLinear(x, s1, u1)\n"
         "y = AveragePool(d) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]\nq = QuantizeLinear(y, s2, u0)\noutput "
         "q\n"},
    Case{"average pool, same scale, low zero point",
         "input x int8[1,16,8,6]\nd = DequantizeLinear(x, s1, i1)\n"
         "y = AveragePool(d) kernel_shape=[2,2] strides=[2,2]\nq = QuantizeLinear(y, s1, i1)\noutput q\n"},
    Case{"average pool with its padding",
         "input x uint8[1,6,8,8]\nd = DequantizeLinear(x, s1, u1)\n"
         "y = AveragePool(d) kernel_shape=[3,3] pads=[1,1,1,1] count_include_pad=1\nq = QuantizeLinear(y, s1, u1)\n"
         "e = DequantizeLinear(q, s1, u0)\n"
         "z = AveragePool(e) kernel_shape=[3,3] pads=[1,1,1,1] count_include_pad=1\np = QuantizeLinear(z, s2, u0)\n"
         "output p\n"},
    Case{"global average pool",
         "input x uint8[1,37,7,5]\nd = DequantizeLinear(x, s1, u1)\ny = GlobalAveragePool(d)\n"
         "q = QuantizeLinear(y, s1, u1)\noutput q\n"},
    Case{"max pool of integers",
         "input x int8[1,20,9,9]\ny = MaxPool(x) kernel_shape=[3,3] strides=[2,2] pads=[1,1,0,0]\n"
         "z = MaxPool(y) kernel_shape=[2,2] strides=[2,2] ceil_mode=1\noutput z\n"},
    Case{"concat of integers",
         "input a uint8[1,16,5,5]\ninput b uint8[1,32,5,5]\nconst c uint8[1,7,5,5] whole 1\n"
         "y = Concat(a, b, c) axis=1\noutput y\n"},
    Case{"transpose of integers", "input a int8[2,3,5,7]\ny = Transpose(a) perm=[0,2,3,1]\noutput y\n"},
    Case{"softmax",
         "input x int8[3,10]\nconst h float32[] value 0.00390625\nd = DequantizeLinear(x, s1, i2)\ny = Softmax(d)\n"
         "q = QuantizeLinear(y, h, i1)\ne = DequantizeLinear(q, h, i1)\noutput e\n"},
    Case{"conversions of every kind",
         "input x float32[2,5,3,4]\nq = QuantizeLinear(x, s1, u1)\nd = DequantizeLinear(q, s1, u1)\n"
         "p = QuantizeLinear(d, s2, i2)\ne = DequantizeLinear(p, s2, i2)\na = Abs(e)\nb = QuantizeLinear(a, "
         "s3)\noutput b\n"},
    Case{"conversions along an axis",
         "input x float32[2,5,3,4]\nconst c float32[5] floats 0.01 0.02 0.03 0.04 0.05\nconst z uint8[5] ints 1 2 3 4 "
         "250\n"
         "q = QuantizeLinear(x, c, z) axis=1\nd = DequantizeLinear(q, c, z) axis=1\n"
         "p = QuantizeLinear(d, c) axis=1\ne = DequantizeLinear(p, c) axis=1\noutput e\n"},
    Case{"conversions of a scalar and a vector",
         "input x float32[]\ninput y float32[67]\nq = QuantizeLinear(x, s1, u1)\nd = DequantizeLinear(q, s1, u1)\n"
         "p = QuantizeLinear(y, s1, i1)\ne = DequantizeLinear(p, s1, i1)\na = Add(d, e)\noutput a\n"},
    Case{"empty tensors",
         "input x float32[0,7]\nq = QuantizeLinear(x, s1, u1)\nd = DequantizeLinear(q, s1, u1)\noutput d\n"},
};

// Cases of which oneDNN makes one kernel of everything, where the processor has exact products of integers.
constexpr std::array kWholes = {
    "convolution 3x3, padded, zero point in the middle",
    "convolution of int8, zero point at the low end, odd channels",
    "convolution, scales by channel, relu",
    "convolution, weights of uint8",
    "convolution, depthwise, clip",
    "convolution of one channel, kernel of even size",
    "convolution, residual of integers, relu",
    "convolution, residual of the other sign",
    "gemm of real numbers with integer weights",
    "transposed convolution",
    "matmul, bias, relu",
    "matmul of two inputs, real numbers out",
    "matmul, stack times a matrix with a zero point",
    "integer matmul, zero point known in the run, weights of uint8",
    "gemm, transposed, bias",
    "sum of two",
    "difference of two",
    "sum with a constant row",
    "sum of integers and a real tensor",
    "activations",
    "average pool, other scale",
    "global average pool",
};

enum class Data { kAnywhere, kLow, kHigh, kMiddle };

Tensor Filled(const ValueType& type, Data data, uint64_t seed) {
  const bool real = type.type == DataType::kFloat32;
  std::string text = "const x " + ToString(type) + " ";
  if (data == Data::kAnywhere) {
    text += (real ? "random " : "whole ") + std::to_string(seed);
  } else if (real) {
    text += std::string("value ") + (data == Data::kLow ? "-1e30" : data == Data::kHigh ? "1e30" : "0.5");
  } else {
    const IntegerRange range = *RangeOf(type.type);
    const double value = data == Data::kLow ? range.low : data == Data::kHigh ? range.high : 100;
    text += "value " + std::to_string(static_cast<int>(value));
  }
  const Graph graph = LoadCase({"filled", (text + "\noutput x\n").c_str()});
  return *graph.value(graph.outputs()[0]).constant;
}

Graph LoadWithParameters(const Case& c) {
  const std::string text = std::string(kParameters) + c.graph;
  return LoadCase({c.name, text.c_str()});
}

TEST_CASE("Integers, StretchesAreOneKernel", "[conformance]") {
  const std::string isa = DiscoverHost().value().devices[0].isa;
  if (isa.find("avx512_vnni") == std::string::npos && isa.find("avx_vnni") == std::string::npos) {
    SKIP("this processor has no exact products of integers");
  }
  std::vector<std::unique_ptr<Library>> libraries;
  for (const LibraryRow& row : BuiltInLibraries()) libraries.push_back(row.make());
  for (const char* name : kWholes) {
    INFO(name);
    const auto at = std::ranges::find_if(kCases, [&](const Case& c) { return std::string_view(c.name) == name; });
    REQUIRE(at != kCases.end());
    const Graph graph = LoadWithParameters(*at);
    const auto candidates = EnumerateCandidates(graph, MakeTestPlatform(2, false), libraries, Precision());
    CHECK(std::ranges::any_of(candidates, [&](const Candidate& candidate) {
      return candidate.library == "onednn" && candidate.nodes.size() == graph.nodes().size();
    }));
  }
}

TEST_CASE("Integers, EveryCandidateIsWithinOneUnitOfTheReference", "[conformance][plugins]") {
  CheckedCandidates checked;
  const Platform platform = MakeTestPlatform(2, false);
  for (const Case& c : kCases) {
    const Graph graph = LoadWithParameters(c);
    for (const Data data : {Data::kAnywhere, Data::kLow, Data::kHigh, Data::kMiddle}) {
      INFO(c.name << ", data " << static_cast<int>(data));
      std::vector<Tensor> inputs;
      for (ValueId id : graph.inputs()) inputs.push_back(Filled(graph.value(id).type, data, 7 + inputs.size()));
      CheckGraph(graph, inputs, platform, Precision(), checked);
    }
  }
  CHECK(checked[{"reference", MathMode::kFp32}] > 0);
  CHECK(checked[{"onednn", MathMode::kFp32}] > 100);
}

}  // namespace
}  // namespace pt::testing::integers_test
