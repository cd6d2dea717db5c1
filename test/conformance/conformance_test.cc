// Every built-in library against the reference library: each candidate it offers for small awkward graphs, singles and
// groups, in all layouts, on teams of one and two.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <map>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/platform/discover.h"
#include "test/testing/check_case.h"
#include "test/testing/kernel_bench.h"
#include "test/testing/plugin_libraries.h"
#include "test/testing/run_candidate.h"
#include "test/testing/telling_library.h"
#include "test/testing/test_machine.h"

namespace pt::testing::conformance_test {
namespace {

constexpr std::array kCases = {
    Case{"convolution 3x3",
         "input x float32[1,16,9,9]\nconst w float32[32,16,3,3] random 1\nconst b float32[32] random 2\n"
         "y = Conv(x, w, b) pads=[1,1,1,1]\noutput y\n"},
    Case{"convolution, odd channels",
         "input x float32[2,7,11,5]\nconst w float32[13,7,3,3] random 1\n"
         "y = Conv(x, w) strides=[2,1]\noutput y\n"},
    Case{"convolution, asymmetric pads",
         "input x float32[1,3,10,10]\nconst w float32[8,3,3,3] random 1\nconst b float32[8] random 2\n"
         "y = Conv(x, w, b) pads=[0,1,2,3] strides=[2,2]\noutput y\n"},
    Case{"convolution, dilated",
         "input x float32[1,4,14,14]\nconst w float32[6,4,3,3] random 1\n"
         "y = Conv(x, w) dilations=[2,3] pads=[2,3,2,3]\noutput y\n"},
    Case{"convolution, groups",
         "input x float32[1,12,8,8]\nconst w float32[18,4,3,3] random 1\n"
         "y = Conv(x, w) group=3 pads=[1,1,1,1]\noutput y\n"},
    Case{"convolution, groups that fill vectors together, clipped",
         "input x float32[2,40,9,17]\nconst w float32[40,4,3,3] random 1\nconst b float32[40] random 2\n"
         "const lo float32[] value -0.5\nconst hi float32[] value 1\n"
         "m = Conv(x, w, b) group=10 pads=[1,1,1,1]\ny = Clip(m, lo, hi)\noutput y\n"},
    Case{"convolution, groups that fill several vectors",
         "input x float32[1,80,8,15]\nconst w float32[60,40,3,3] random 1\n"
         "m = Conv(x, w) group=2 pads=[0,1,2,1] strides=[2,2]\ny = Relu(m)\noutput y\n"},
    Case{"convolution, depthwise with several filters a channel",
         "input x float32[1,13,8,8]\nconst w float32[26,1,3,3] random 1\n"
         "y = Conv(x, w) group=13 pads=[1,1,1,1]\noutput y\n"},
    Case{"convolution, depthwise",
         "input x float32[1,24,13,13]\nconst w float32[24,1,5,5] random 1\nconst b float32[24] random 3\n"
         "y = Conv(x, w, b) group=24 pads=[2,2,2,2] strides=[2,2]\noutput y\n"},
    Case{"convolution, pointwise of one pixel",
         "input x float32[1,33,1,1]\nconst w float32[17,33,1,1] random 1\n"
         "y = Conv(x, w)\noutput y\n"},
    Case{"convolution, pointwise with residual",
         "input x float32[2,20,7,9]\ninput r float32[2,24,4,5]\nconst w float32[24,20,1,1] random 1\n"
         "const b float32[24] random 2\nm = Conv(x, w, b) strides=[2,2]\na = Add(m, r)\ny = Relu(a)\noutput y\n"},
    Case{"convolution, few filters",
         "input x float32[2,5,11,37]\nconst w float32[3,5,3,7] random 1\nconst b float32[3] random 2\n"
         "m = Conv(x, w, b) pads=[1,3,1,3] strides=[1,2]\ny = Relu(m)\noutput y\n"},
    Case{"convolution, one filter along a row",
         "input x float32[1,1,1,300]\nconst w float32[1,1,1,64] random 1\n"
         "y = Conv(x, w) strides=[1,2]\noutput y\n"},
    Case{"convolution, 1-d",
         "input x float32[2,5,17]\nconst w float32[6,5,3] random 1\n"
         "y = Conv(x, w) pads=[1,1]\noutput y\n"},
    Case{"convolution, 3-d",
         "input x float32[1,3,5,6,7]\nconst w float32[4,3,3,3,3] random 1\n"
         "y = Conv(x, w) pads=[1,1,1,1,1,1]\noutput y\n"},
    Case{"convolution, SAME",
         "input x float32[1,3,9,9]\nconst w float32[5,3,4,4] random 1\n"
         "y = Conv(x, w) auto_pad=\"SAME_UPPER\" strides=[2,2]\noutput y\n"},
    Case{"convolution, a stride that makes one column",
         "input x float32[1,16,10,1]\nconst w float32[4,4,3,3] random 1\nconst b float32[4] random 2\n"
         "y = Conv(x, w, b) strides=[1,2] pads=[0,1,0,1] group=4\noutput y\n"},
    Case{"convolution, 3-d, several filters for each channel of one slice",
         "input x float32[1,32,1,4,4]\nconst w float32[64,1,3,3,3] random 1\n"
         "y = Conv(x, w) pads=[1,1,1,1,1,1] group=32\noutput y\n"},
    Case{"convolution, 3-d, windows that step over the only slice",
         "input x float32[1,12,1,5,5]\nconst w float32[16,12,3,3,3] random 1\n"
         "y = Conv(x, w) dilations=[2,1,1] pads=[3,0,0,3,0,0]\noutput y\n"},
    Case{"transposed convolution, 3-d, windows that step over the only slice",
         "input x float32[1,12,1,5,5]\nconst w float32[12,16,4,3,3] random 1\n"
         "y = ConvTranspose(x, w) dilations=[2,1,1] pads=[3,0,0,3,0,0]\noutput y\n"},
    Case{"convolution, weights not constant",
         "input x float32[1,4,6,6]\ninput w float32[8,4,3,3]\n"
         "y = Conv(x, w) pads=[1,1,1,1]\noutput y\n"},
    Case{"convolution, big",
         "input x float32[1,64,28,28]\nconst w float32[96,64,3,3] random 1\n"
         "y = Conv(x, w) pads=[1,1,1,1]\noutput y\n"},
    Case{"convolution, batch of none",
         "input x float32[0,3,8,8]\nconst w float32[4,3,3,3] random 1\n"
         "y = Conv(x, w)\noutput y\n"},
    Case{"convolution and relu",
         "input x float32[1,16,9,9]\nconst w float32[16,16,3,3] random 1\nconst b float32[16] random 2\n"
         "y = Conv(x, w, b) pads=[1,1,1,1]\nz = Relu(y)\noutput z\n"},
    Case{"convolution, residual add, relu",
         "input x float32[1,16,8,8]\ninput r float32[1,24,8,8]\nconst w float32[24,16,3,3] random 1\n"
         "const b float32[24] random 2\ny = Conv(x, w, b) pads=[1,1,1,1]\ns = Add(y, r)\nz = Relu(s)\noutput z\n"},
    Case{"residual add on the left",
         "input x float32[1,8,6,6]\ninput r float32[1,8,6,6]\nconst w float32[8,8,1,1] random 1\n"
         "y = Conv(x, w)\ns = Add(r, y)\noutput s\n"},
    Case{"convolution read twice",
         "input x float32[1,8,6,6]\nconst w float32[8,8,3,3] random 1\n"
         "y = Conv(x, w) pads=[1,1,1,1]\na = Relu(y)\nb = Sigmoid(y)\nz = Add(a, b)\noutput z\n"},
    Case{"convolution, clip",
         "input x float32[1,8,6,6]\nconst w float32[16,8,1,1] random 1\nconst lo float32[] value 0\nconst hi float32[] "
         "value 0.5\n"
         "y = Conv(x, w)\nz = Clip(y, lo, hi)\noutput z\n"},
    Case{"convolution, hard swish",
         "input x float32[1,8,6,6]\nconst w float32[16,8,1,1] random 1\n"
         "y = Conv(x, w)\nz = HardSwish(y)\noutput z\n"},
    Case{"convolution, swish of two nodes",
         "input x float32[1,8,6,6]\nconst w float32[16,8,1,1] random 1\n"
         "y = Conv(x, w)\ns = Sigmoid(y)\nz = Mul(y, s)\noutput z\n"},
    Case{"transposed convolution",
         "input x float32[1,6,5,5]\nconst w float32[6,4,2,2] random 1\nconst b float32[4] random 2\n"
         "y = ConvTranspose(x, w, b) strides=[2,2]\noutput y\n"},
    Case{"matmul", "input x float32[7,33]\nconst w float32[33,19] random 1\ny = MatMul(x, w)\noutput y\n"},
    Case{"matmul, one row", "input x float32[1,512]\nconst w float32[512,100] random 1\ny = MatMul(x, w)\noutput y\n"},
    Case{"matmul, batches", "input a float32[3,2,5,8]\ninput b float32[3,2,8,6]\ny = MatMul(a, b)\noutput y\n"},
    Case{"matmul, broadcast batches", "input a float32[3,1,5,8]\ninput b float32[2,8,6]\ny = MatMul(a, b)\noutput y\n"},
    Case{"matmul, vectors", "input a float32[8]\ninput b float32[3,8,6]\ny = MatMul(a, b)\noutput y\n"},
    Case{"convolution 3x3 of whole vectors, with residual",
         "input x float32[2,32,7,10]\ninput r float32[2,32,6,9]\nconst w float32[32,32,3,3] random 1\n"
         "const b float32[32] random 2\nc = Conv(x, w, b) pads=[1,0,0,1]\ns = Add(c, r)\ny = Relu(s)\noutput y\n"},
    Case{"matmul of batches turned around, of which the last dim is one",
         "input x float32[2,12,2,1]\nconst w float32[2,10] random 1\na = Transpose(x) perm=[0,3,1,2]\n"
         "y = MatMul(a, w)\noutput y\n"},
    Case{"attention between transposes",
         "input q float32[2,7,3,5]\ninput k float32[2,9,3,5]\ninput v float32[2,9,3,4]\ninput mask float32[2,1,1,9]\n"
         "a = Transpose(q) perm=[0,2,1,3]\nb = Transpose(k) perm=[0,2,3,1]\nc = Transpose(v) perm=[0,2,1,3]\n"
         "s = MatMul(a, b)\nt = Add(s, mask)\np = Softmax(t) axis=-1\no = MatMul(p, c)\n"
         "y = Transpose(o) perm=[0,2,1,3]\noutput y\n"},
    Case{"product of a transpose with itself, read twice",
         "input x float32[4,6]\na = Transpose(x) perm=[1,0]\nm = MatMul(a, x)\ny = MatMul(m, a)\noutput y\noutput a\n"},
    Case{"product between transposes of dims of one",
         "input x float32[1,1,3,1]\ninput z float32[3,1,1,1]\na = Transpose(x) perm=[2,0,3,1]\nm = MatMul(z, a)\n"
         "y = Transpose(m) perm=[3,1,0,2]\noutput y\n"},
    Case{"matmul of nothing summed", "input a float32[4,0]\ninput b float32[0,3]\ny = MatMul(a, b)\noutput y\n"},
    Case{"matmul, bias, relu",
         "input x float32[5,16]\nconst w float32[16,12] random 1\nconst b float32[12] random 2\n"
         "y = MatMul(x, w)\ns = Add(y, b)\nz = Relu(s)\noutput z\n"},
    Case{"gemm",
         "input x float32[4,20]\nconst w float32[10,20] random 1\nconst b float32[10] random 2\n"
         "y = Gemm(x, w, b) transB=1\noutput y\n"},
    Case{"gemm, transposed and scaled",
         "input x float32[20,4]\nconst w float32[20,10] random 1\nconst b float32[4,1] random 2\n"
         "y = Gemm(x, w, b) transA=1 alpha=0.5 beta=2.0\noutput y\n"},
    Case{"gemm, tanh",
         "input x float32[4,20]\nconst w float32[10,20] random 1\nconst b float32[10] random 2\n"
         "y = Gemm(x, w, b) transB=1\nz = Tanh(y)\noutput z\n"},
    Case{"max pool",
         "input x float32[1,20,9,9]\ny = MaxPool(x) kernel_shape=[3,3] strides=[2,2] pads=[1,1,0,0]\noutput y\n"},
    Case{"max pool, ceil",
         "input x float32[1,5,10,10]\ny = MaxPool(x) kernel_shape=[3,3] strides=[2,2] ceil_mode=1\noutput y\n"},
    Case{"average pool",
         "input x float32[2,6,8,8]\ny = AveragePool(x) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]\noutput y\n"},
    Case{"average pool with its padding",
         "input x float32[1,6,8,8]\ny = AveragePool(x) kernel_shape=[3,3] pads=[1,1,1,1] count_include_pad=1\noutput "
         "y\n"},
    Case{"average pool, ceil with its padding",
         "input x float32[1,6,7,7]\n"
         "y = AveragePool(x) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] ceil_mode=1 count_include_pad=1\noutput "
         "y\n"},
    Case{"global average pool", "input x float32[1,37,7,5]\ny = GlobalAveragePool(x)\noutput y\n"},
    Case{"global max pool", "input x float32[2,16,7,5]\ny = GlobalMaxPool(x)\noutput y\n"},
    Case{"activations in a chain",
         "input x float32[3,5,7]\na = Abs(x)\nb = Sqrt(a)\nc = Tanh(b)\nd = Exp(c)\ne = Elu(d)\nf = "
         "LeakyRelu(e)\noutput f\n"},
    Case{"add of equal shapes", "input a float32[1,17,6,6]\ninput b float32[1,17,6,6]\ny = Add(a, b)\noutput y\n"},
    Case{"add to itself", "input a float32[2,9]\ny = Add(a, a)\noutput y\n"},
    Case{"multiply, broadcast channels",
         "input a float32[2,17,6,6]\ninput b float32[1,17,1,1]\ny = Mul(a, b)\noutput y\n"},
    Case{"multiply, broadcast from the left",
         "input a float32[17,1,1]\ninput b float32[2,17,6,6]\ny = Mul(a, b)\noutput y\n"},
    Case{"subtract, both broadcast", "input a float32[4,1,3]\ninput b float32[1,5,1]\ny = Sub(a, b)\noutput y\n"},
    Case{"divide by a scalar", "input a float32[4,7]\nconst s float32[] value 3\ny = Div(a, s)\noutput y\n"},
    Case{"maximum and minimum", "input a float32[4,7]\ninput b float32[7]\ny = Max(a, b)\nz = Min(y, a)\noutput z\n"},
    Case{"empty tensors", "input a float32[0,7]\ninput b float32[1,7]\ny = Add(a, b)\nz = Relu(y)\noutput z\n"},
    Case{"softmax", "input x float32[3,4,10]\ny = Softmax(x) axis=-1\nz = Softmax(y) axis=1\noutput z\n"},
    Case{"log softmax", "input x float32[5,11]\ny = LogSoftmax(x)\noutput y\n"},
    Case{"lrn", "input x float32[1,9,5,5]\ny = LRN(x) size=5 alpha=0.01 beta=0.75 bias=1.0\noutput y\n"},
    Case{"layer normalisation",
         "input x float32[2,5,16]\nconst s float32[16] random 1\nconst b float32[16] random 2\n"
         "y = LayerNormalization(x, s, b)\noutput y\n"},
    Case{"layer normalisation by what is computed",
         "input x float32[3,20]\ninput s float32[20]\ninput b float32[20]\n"
         "y = LayerNormalization(x, s, b)\noutput y\n"},
    Case{"batch normalisation",
         "input x float32[2,18,5,5]\nconst s float32[18] random 1\nconst b float32[18] random 2\nconst m float32[18] "
         "random 3\n"
         "const v float32[18] value 0.7\ny = BatchNormalization(x, s, b, m, v)\noutput y\n"},
    Case{"concat of channels",
         "input a float32[1,16,5,5]\ninput b float32[1,32,5,5]\ninput c float32[1,7,5,5]\n"
         "y = Concat(a, b, c) axis=1\noutput y\n"},
    Case{"concat inside", "input a float32[2,3,5]\ninput b float32[2,3,4]\ny = Concat(a, b) axis=2\noutput y\n"},
    Case{"reductions", "input x float32[2,3,4,5]\na = ReduceMean(x) axes=[2,3]\nb = ReduceMax(a) axes=[1]\noutput b\n"},
    Case{"reduction over axes given as an input",
         "input x float32[2,3,4,5]\nconst axes int64[2] ints 1 2\n"
         "y = ReduceSum(x, axes) keepdims=0\noutput y\n"},
    Case{"reductions of every kind",
         "input x float32[3,5,6,17]\na = ReduceSum(x) axes=[1]\nb = ReduceL1(a) axes=[0]\nc = ReduceL2(x) axes=[0,2]\n"
         "d = ReduceLogSumExp(x) axes=[3] keepdims=0\ne = ReduceMin(x) axes=[2,3]\nf = ReduceProd(d) axes=[-1]\n"
         "g = ReduceSumSquare(x)\nh = ReduceMax(x) axes=[0]\noutput b\noutput c\noutput e\noutput f\noutput g\n"
         "output h\n"},
    Case{"movement of every kind",
         "input x float32[2,8,6,9]\nconst p int64[8] ints 0 0 1 2 0 1 0 3\n"
         "const s int64[4] ints 2 8 6 9\nconst r int64[4] ints 1 2 1 2\nconst from int64[2] ints 0 -1\n"
         "const to int64[2] ints 5 -8\nconst axes int64[2] ints 2 3\nconst steps int64[2] ints 2 -1\n"
         "a = Transpose(x) perm=[0,2,3,1]\nb, c = Split(a) axis=-1 num_outputs=2\nd = Concat(c, b, c) axis=2\n"
         "e = Pad(x, p) mode=\"reflect\"\nf = Slice(x, from, to, axes, steps)\ng = DepthToSpace(x) blocksize=2\n"
         "h = SpaceToDepth(g) blocksize=2\nj = Tile(f, r)\nk = ReduceMax(x) axes=[2,3]\nl = Expand(k, s)\n"
         "m = Pad(x, p)\noutput d\noutput e\noutput h\noutput j\noutput l\noutput m\n"},
    Case{"gather", "input x float32[7,5]\nconst i int64[2,2] ints 0 -1 6 3\ny = Gather(x, i)\noutput y\n"},
    Case{"angles, signs, remainders and powers",
         "input x float32[3,70]\ninput p float32[70]\nconst h float32[] value 0.7\na = Sin(x)\nb = Cos(x)\n"
         "c = Sign(x)\nd = Mod(x, h)\ne = Abs(x)\nf = Pow(e, p)\ng = Mul(a, b)\nj = Add(g, c)\noutput j\noutput d\n"
         "output f\n"},
    Case{"integers",
         "input x int64[3,40]\ninput z int32[5,3]\nconst k int64[] ints 7\na = Mod(x, k)\nb = Div(x, k)\n"
         "c = ReduceSum(a) axes=[1]\nd = ReduceMax(z) axes=[0]\ne = Sign(b)\noutput c\noutput d\noutput e\n"},
    Case{"gather and scatter by element",
         "input x float32[7,5]\ninput u float32[2,5]\nconst i int64[2,5] ints 0 -1 6 3 3 0 2 2 -7 3\n"
         "a = GatherElements(x, i)\nb = ScatterElements(x, i, u)\nc = ScatterElements(x, i, a) reduction=\"add\"\n"
         "output b\noutput c\n"},
    Case{"gather and scatter by tuples",
         "input x float32[4,3,6]\ninput u float32[3,6]\nconst i int64[3,2] ints 0 -1 3 1 0 2\na = GatherND(x, i)\n"
         "b = ScatterND(x, i, u)\nc = ScatterND(x, i, a) reduction=\"mul\"\noutput b\noutput c\n"},
    Case{"one-hot, triangle and running sums",
         "input x float32[4,6]\nconst i int64[4] ints 0 5 -1 9\nconst d int64[] ints 6\n"
         "const v float32[2] floats 0.5 2\nconst axis int64[] ints 1\na = OneHot(i, d, v)\nb = Mul(x, a)\n"
         "c = Trilu(b)\ne = CumSum(c, axis)\noutput e\n"},
    Case{"top k",
         "input x float32[3,50,2]\nconst k int64[1] ints 7\ny, i = TopK(x, k) axis=1\nz, j = TopK(y, k) axis=1 "
         "largest=0\noutput z\noutput i\noutput j\n"},
    Case{"sampling at positions",
         "input x float32[2,5,6,7]\ninput g float32[2,4,3,2]\nconst r float32[3,4] floats 0 0 3 3 1 2 5 6 2 1 4 4\n"
         "const b int64[3] ints 0 1 1\ny = GridSample(x, g)\nz = RoiAlign(x, r, b) output_height=2 output_width=3\n"
         "output y\noutput z\n"},
    Case{"rotary embedding",
         "input x float32[2,3,5,8]\ninput c float32[2,5,4]\ninput s float32[2,5,4]\ny = RotaryEmbedding(x, c, s)\n"
         "output y\n"},
    Case{"lp normalisation",
         "input x float32[2,5,33]\ny = LpNormalization(x)\nz = LpNormalization(y) axis=1 p=1\noutput z\n"},
    Case{"gelu spelled out",
         "input x float32[3,70]\nconst r float32[] value 0.70710677\nconst one float32[] value 1\n"
         "const h float32[] value 0.5\na = Mul(x, r)\nb = Erf(a)\nc = Add(b, one)\nd = Mul(x, c)\ne = Mul(d, h)\n"
         "output e\n"},
    Case{"masks",
         "input x float32[2,3,40]\ninput m int64[3,1]\nconst z int64[] ints 0\nconst low float32[] value -1e9\n"
         "a = Greater(m, z)\nb = Not(a)\nc = Where(b, low, x)\nd = Cast(b) to=1\ne = Add(c, d)\noutput e\n"},
    Case{"resize, nearest",
         "input x float32[1,10,4,4]\nconst s float32[4] floats 1 1 2 2\n"
         "y = Resize(x, _, s) mode=\"nearest\" coordinate_transformation_mode=\"asymmetric\" "
         "nearest_mode=\"floor\"\noutput y\n"},
    Case{"elementwise and movement between convolutions",
         "input x float32[1,16,6,6]\ninput m float32[1,32,1,1]\nconst u float32[32,16,1,1] random 1\n"
         "const v float32[8,64,1,1] random 2\nconst h float32[] value 0.5\na = Conv(x, u)\nb = Mul(a, m)\n"
         "c = Sigmoid(b)\nd = Max(c, h)\ne = Concat(d, a) axis=1\nf, g = Split(e) axis=2 num_outputs=2\n"
         "i = Concat(g, f) axis=3\nj = Conv(i, v)\noutput j\n"},
    Case{"branches that join",
         "input x float32[1,8,8,8]\nconst u float32[16,8,1,1] random 1\nconst v float32[16,8,3,3] random 2\nconst w "
         "float32[16,8,5,5] random 3\n"
         "a = Conv(x, u)\nb = Conv(x, v) pads=[1,1,1,1]\nc = Conv(x, w) pads=[2,2,2,2]\nd = Relu(a)\ne = Relu(b)\n"
         "f = Concat(d, e, c) axis=1\ng = MaxPool(f) kernel_shape=[2,2] strides=[2,2]\noutput g\n"},
};

TEST_CASE("Conformance, EveryCandidateEqualsTheReferenceLibraryAndItsDescription", "[conformance][plugins]") {
  CheckedCandidates checked;
  for (const Case& c : kCases) CheckCase(c, MakeTestPlatform(2, false), Precision(), checked);
  CHECK(checked[{"reference", MathMode::kFp32}] > 0);
  CHECK(checked[{"onednn", MathMode::kFp32}] > 100);
  CHECK(checked[{"host", MathMode::kFp32}] > 50);
  for (const LibraryRow& row : PluginLibraries()) CHECK(checked[{std::string(row.name), MathMode::kFp32}] > 50);
  for (const auto& [of, count] : checked) CHECK(of.second == MathMode::kFp32);
}

// Every combination of what recurrent operators may have: gates, directions, layouts, states, biases, which outputs
// somebody needs.
struct RecurrentCase {
  std::string cell;  // "LSTM"
  std::string attributes;
  int64_t gates;
  int64_t time = 5, batch = 1, input = 3, hidden = 4;
  std::string direction = "forward";
  bool batch_first = false, bias = true, states = true, constant_states = false;
  std::string outputs = "y, h";
  std::string lengths = "_", peepholes = "";  // operands as the text has them
};

std::string Text(const RecurrentCase& c) {
  const int64_t d = c.direction == "bidirectional" ? 2 : 1;
  const auto dims = [](std::initializer_list<int64_t> list) {
    std::string text;
    for (const int64_t dim : list) text += (text.empty() ? "[" : ",") + std::to_string(dim);
    return text + "]";
  };
  std::string text =
      "input x float32" + (c.batch_first ? dims({c.batch, c.time, c.input}) : dims({c.time, c.batch, c.input})) + "\n";
  text += "const w float32" + dims({d, c.gates * c.hidden, c.input}) + " random 1\n";
  text += "const r float32" + dims({d, c.gates * c.hidden, c.hidden}) + " random 2\n";
  if (c.bias) text += "const b float32" + dims({d, 2 * c.gates * c.hidden}) + " random 3\n";
  const std::string state = c.batch_first ? dims({c.batch, d, c.hidden}) : dims({d, c.batch, c.hidden});
  const bool lstm = c.cell == "LSTM";
  if (c.states) {
    text +=
        (c.constant_states ? "const" : "input") + (" h0 float32" + state) + (c.constant_states ? " random 4\n" : "\n");
    if (lstm) text += "input c0 float32" + state + "\n";
  }
  if (c.lengths == "full") {
    text += "const full int32" + dims({c.batch}) + " ints";
    for (int64_t i = 0; i < c.batch; ++i) text += " " + std::to_string(c.time);
    text += "\n";
  }
  if (!c.peepholes.empty()) text += "const p float32" + dims({d, 3 * c.hidden}) + " random 5\n";
  text += c.outputs + " = " + c.cell + "(x, w, r, " + (c.bias ? "b" : "_") + ", " + c.lengths + ", " +
          (c.states ? "h0" : "_");
  if (lstm) text += std::string(", ") + (c.states ? "c0" : "_") + (c.peepholes.empty() ? "" : ", p");
  text += ") hidden_size=" + std::to_string(c.hidden) + " direction=\"" + c.direction +
          "\" layout=" + (c.batch_first ? "1" : "0") + c.attributes + "\n";
  for (const char* output : {"y", "h", "c"}) {
    if (c.outputs.find(output) != std::string::npos) text += std::string("output ") + output + "\n";
  }
  return text;
}

std::vector<RecurrentCase> RecurrentCases() {
  std::vector<RecurrentCase> cases;
  const RecurrentCase kinds[] = {
      {"LSTM", "", 4}, {"GRU", " linear_before_reset=0", 3}, {"GRU", " linear_before_reset=1", 3}, {"RNN", "", 1}};
  for (const RecurrentCase& kind : kinds) {
    const std::string all = kind.cell == "LSTM" ? "y, h, c" : "y, h";
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (const bool batch_first : {false, true}) {
        for (const int64_t batch : {1, 3}) {
          RecurrentCase c = kind;
          c.direction = direction;
          c.batch_first = batch_first;
          c.batch = batch;
          c.outputs = all;
          cases.push_back(c);
        }
      }
    }
    // Sizes around the width of vectors and blocks, one step, nothing but what is needed.
    for (const int64_t hidden : {1, 2, 15, 16, 17, 33, 64, 100}) {
      RecurrentCase c = kind;
      c.hidden = hidden;
      c.input = hidden % 7 + 1;
      c.outputs = all;
      c.batch = (hidden + 2) % 3 + 1;
      cases.push_back(c);
    }
    RecurrentCase one_step = kind;
    one_step.time = 1;
    cases.push_back(one_step);
    RecurrentCase bare = kind;
    bare.bias = bare.states = false;
    bare.outputs = "y";
    cases.push_back(bare);
    RecurrentCase last = kind;
    last.direction = "bidirectional";
    last.batch = 2;
    last.outputs = "_, h";
    last.lengths = "full";
    last.constant_states = true;
    cases.push_back(last);
    RecurrentCase large = kind;
    large.hidden = 144;
    large.input = 80;
    large.time = 4;  // weights of this size amplify rounding from step to step
    large.direction = "bidirectional";
    cases.push_back(large);
  }
  RecurrentCase cell_alone = kinds[0];
  cell_alone.outputs = "_, _, c";
  cases.push_back(cell_alone);
  RecurrentCase peepholes = kinds[0];
  peepholes.peepholes = "p";
  cases.push_back(peepholes);
  RecurrentCase relu = kinds[3];
  relu.attributes = " activations=[\"relu\"]";
  cases.push_back(relu);
  RecurrentCase old_keras = kinds[1];
  old_keras.attributes += " activations=[\"HardSigmoid\",\"Tanh\"]";
  cases.push_back(old_keras);
  RecurrentCase coupled = kinds[0];
  coupled.attributes = " input_forget=1 clip=0.5";
  cases.push_back(coupled);
  return cases;
}

TEST_CASE("Conformance, RecurrentOperatorsEqualTheReferenceLibrary", "[conformance][plugins]") {
  std::map<std::pair<std::string, MathMode>, size_t> checked;
  for (const RecurrentCase& c : RecurrentCases()) {
    const std::string text = Text(c);
    CheckCase({text.c_str(), text.c_str()}, MakeTestPlatform(2, false), Precision(), checked);
  }
  CHECK(checked[{"recurrent", MathMode::kFp32}] >= RecurrentCases().size());
}

TEST_CASE("Conformance, EveryCandidateInBf16IsWithinItsTolerance", "[conformance]") {
  Platform platform = MakeTestPlatform(2, false);
  platform.devices[0].isa = DiscoverHost().value().devices[0].isa;
  if (!platform.devices[0].has_instructions("avx512_bf16") && !platform.devices[0].has_instructions("amx_bf16")) {
    SKIP("this processor has no bf16 instructions");
  }
  CheckedCandidates checked;
  for (const Case& c : kCases) CheckCase(c, platform, Precision({MathMode::kBf16}), checked);
  CHECK(checked[{"onednn", MathMode::kBf16}] > 100);
  CHECK(checked[{"host", MathMode::kBf16}] > 50);
}

// A sabotaged library must not pass: the oracle notices what it computes.
class WrongRelu final : public Library {
 public:
  explicit WrongRelu(std::unique_ptr<Library> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return "wrong"; }
  std::string version() const override { return "1"; }
  bool Serves(const Platform& platform, DeviceId device) const override { return inner_->Serves(platform, device); }
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    return inner_->Candidates(graph, platform, precision);
  }
  std::vector<Candidate> AgnosticCandidates(const Graph&, const Platform&, std::span<const Candidate>) const override {
    return {};
  }
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    return inner_->CandidatesFor(graph, platform, nodes, precision);
  }
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    return inner_->WhyUnsupported(graph, node);
  }
  Result<std::unique_ptr<Kernel>> Compile(const Graph&, const Candidate& candidate, std::span<const TensorLayout> in,
                                          std::span<const TensorLayout> out, CompileContext& context) const override {
    // Whatever is asked for, negative values stay.
    const Graph wrong = InferShapes(*ParseGraph("input x float32[4]\ny = Identity(x)\noutput y\n")).value();
    return inner_->Compile(wrong, candidate, in, out, context);
  }
  bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims, const Form& from,
                  const Form& to) const override {
    return inner_->CanReorder(platform, unit_class, dims, from, to);
  }
  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                 CompileContext& context) const override {
    return inner_->CompileReorder(from, to, context);
  }

 private:
  std::unique_ptr<Library> inner_;
};

TEST_CASE("CheckingLibrary, PassesTheRightAndStopsTheWrong", "[conformance]") {
  const Graph graph = InferShapes(*ParseGraph("input x float32[4]\ny = Relu(x)\noutput y\n")).value();
  const Platform platform = MakeTestPlatform(1, false);
  const std::vector<Tensor> inputs = {Tensor::Float32({4}, {1, -2, 3, -4})};
  const auto run = [&](std::unique_ptr<Library> tested) {
    const auto checking = MakeCheckingLibrary(std::move(tested), MakeReferenceLibrary());
    const std::vector<Candidate> candidates = checking->Candidates(graph, platform, Precision());
    REQUIRE(!candidates.empty());
    return RunCandidate(graph, platform, *checking, candidates.front(), inputs);
  };
  const Result<std::vector<Tensor>> right = run(MakeReferenceLibrary());
  REQUIRE(right.ok());
  CHECK(Difference((*right)[0], Tensor::Float32({4}, {1, 0, 3, 0}), 0) == "");
  const Result<std::vector<Tensor>> wrong = run(std::make_unique<WrongRelu>(MakeReferenceLibrary()));
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().code == ErrorCode::kMismatch);
}

TEST_CASE("CheckingLibrary, PassesEveryQuestionOn", "[conformance]") {
  const Graph graph = InferShapes(*ParseGraph("input x float32[4]\ny = Relu(x)\noutput y\n")).value();
  const Platform platform = MakeTestPlatform(1, false);
  KernelBench bench(platform);
  const auto checking = MakeCheckingLibrary(std::make_unique<TellingLibrary>(), MakeReferenceLibrary());
  CHECK(NotPassedOn(*checking, graph, platform, bench.context) == std::vector<std::string>{});
}

// oneDNN's groups too, and its blocked layouts.
TEST_CASE("CheckingLibrary, AcceptsFusedGroupsInBlockedLayouts", "[conformance]") {
  const Graph graph = LoadCase({"",
                                "input x float32[1,16,9,9]\nconst w float32[16,16,3,3] random 1\n"
                                "y = Conv(x, w) pads=[1,1,1,1]\nz = Relu(y)\noutput z\n"});
  const Platform platform = MakeTestPlatform(2, false);
  const auto rows = BuiltInLibraries();
  const auto onednn = std::ranges::find(rows, "onednn", &LibraryRow::name);
  if (onednn == rows.end()) SKIP("this build has no oneDNN");
  const auto checking = MakeCheckingLibrary(onednn->make(), MakeReferenceLibrary());
  const std::vector<Tensor> inputs = RandomInputs(graph);
  size_t groups = 0;
  for (const Candidate& candidate : checking->Candidates(graph, platform, Precision())) {
    if (candidate.nodes.size() < 2) continue;
    ++groups;
    INFO(Describe(graph, candidate));
    CheckDescription(graph, platform, *checking, candidate);
    const Result<std::vector<Tensor>> result =
        RunCandidate(graph, platform, *checking, candidate, inputs, platform.unit_class(candidate.unit_class).cores);
    INFO((result.ok() ? "" : ToString(result.error())));
    CHECK(result.ok());
  }
  CHECK(groups > 0);
}

}  // namespace
}  // namespace pt::testing::conformance_test
