// What every network goes through: constants folded, no-ops, views, batch normalisation, common and dead code.
#include <bit>
#include <functional>
#include <memory>

#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/support/dims_text.h"
#include "test/transform/passes_lab.h"

namespace pt::testing::passes_test {
namespace {

TEST_CASE("FoldConstants, ShapeArithmeticBecomesOneConstant", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[2,3,4]
const zero int64[1] ints 0
const rest int64[1] ints -1
s = Shape(x)
n = Gather(s, zero)
t = Concat(n, rest) axis=0
y = Reshape(x, t)
output y
)") == Ops{"Reshape"});
}

// torch's TorchScript exporter writes assignments to slices so.
TEST_CASE("FoldConstants, WhatConstantsSelectIsConstant", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[4,3]
const size int64[2] ints 2 3
const axis int64[1] ints 1
const rows float32[6] ints 5 1 5 7 1 5
const wanted bool[6] ints 1 0 1 1 0 1
const boxes float32[1,3,4] ints 0 0 1 1 0 0 1 1 4 4 5 5
const scores float32[1,1,3] ints 3 2 1
const most int64[1] ints 3
const half float32[1] value 0.5
ones = ConstantOfShape(size)
n = NonZero(ones)
t = Transpose(n) perm=[1,0]
f = Cast(t) to=1
c = Compress(rows, wanted) axis=0
u = Unique(rows)
b = NonMaxSuppression(boxes, scores, most, half)
g = Cast(b) to=1
s0 = ReduceSum(f) keepdims=0
s1 = ReduceSum(c) keepdims=0
s2 = ReduceSum(u) keepdims=0
s3 = ReduceSum(g) keepdims=0
a0 = Add(s0, s1)
a1 = Add(s2, s3)
a = Add(a0, a1)
y = Add(x, a)
output y
)") == Ops{"Add"});
}

TEST_CASE("FoldConstants, KeepsWhatIsDrawnAtRandom", "[transform]") {
  auto simple = Simplify(Parsed("r = RandomNormal() shape=[2,2]\ny = Relu(r)\noutput y\n"), Context());
  REQUIRE(simple.ok());
  CHECK(Operators(*simple) == Ops{"RandomNormal", "Relu"});
}

TEST_CASE("FoldConstants, LeavesResultsOverTheLimit", "[transform]") {
  PassContext context = Context();
  context.limits.folded_bytes = 1 << 10;
  const Graph graph =
      Parsed("const d int64[2] ints 64 64\nw = ConstantOfShape(d)\ninput x float32[64,64]\ny = Add(x, w)\noutput y\n");
  auto small = Simplify(graph, context);
  REQUIRE(small.ok());
  CHECK(Operators(*small) == Ops{"ConstantOfShape", "Add"});
  auto large = Simplify(graph, Context());
  REQUIRE(large.ok());
  CHECK(Operators(*large) == Ops{"Add"});
}

TEST_CASE("FoldConstants, CountsWhatAllItsRoundsAdd", "[transform]") {
  // The size of what NonZero finds is known from the second round on: its Tile adds 1520 bytes then, what comes before
  // it 1272.
  const Graph graph = Parsed(R"(
input x float32[256]
input i int64[1]
const a float32[64] value 1
const four int64[1] ints 4
const times int64[2] ints 1 4
b = Tile(a, four)
y = Add(x, b)
n = NonZero(a)
t = Tile(n, times)
m = ReduceMax(t) keepdims=0
j = Add(i, m)
output y
output j
)");
  const auto operators_within = [&](uint64_t bytes, int64_t used) {
    PassContext context = Context();
    context.limits.folded_bytes = bytes;
    if (used > 0) context.folded_bytes = std::make_shared<int64_t>(used);
    auto simple = Simplify(graph, context);
    REQUIRE(simple.ok());
    return Operators(*simple);
  };
  CHECK(operators_within(4096, 0) == Ops{"Add", "Add"});
  CHECK(operators_within(2048, 0) == Ops{"Add", "Tile", "ReduceMax", "Add"});
  // What a graph around this one has added counts as well.
  CHECK(operators_within(4096, 2048) == Ops{"Add", "Tile", "ReduceMax", "Add"});
}

TEST_CASE("FoldConstants, OfAChainOnlyTheLastResultCounts", "[transform]") {
  std::string text =
      "input x float32[256]\nconst n int64[1] ints 256\nconst one float32[1] value 1\nv0 = ConstantOfShape(n)\n";
  for (int i = 0; i < 20; ++i) text += "v" + std::to_string(i + 1) + " = Add(v" + std::to_string(i) + ", one)\n";
  PassContext context = Context();
  context.limits.folded_bytes = 2500;
  auto chain = Simplify(Parsed(text + "y = Add(x, v20)\noutput y\n"), context);
  REQUIRE(chain.ok());
  CHECK(Operators(*chain) == Ops{"Add"});
  // All are read at the end: two of them fit.
  std::string all = "y = Sum(x";
  for (int i = 0; i < 20; ++i) all += ", v" + std::to_string(i + 1);
  auto wide = Simplify(Parsed(text + all + ")\noutput y\n"), context);
  REQUIRE(wide.ok());
  const Ops left = Operators(*wide);
  CHECK(std::count(left.begin(), left.end(), "Add") == 18);
}

TEST_CASE("FoldConstants, ALimitOfZeroIsNone", "[transform]") {
  PassContext context = Context();
  context.limits.folded_bytes = context.limits.tensor_bytes = 0;
  const Graph graph =
      Parsed("const d int64[2] ints 64 64\nw = ConstantOfShape(d)\ninput x float32[64,64]\ny = Add(x, w)\noutput y\n");
  auto simple = Simplify(graph, context);
  REQUIRE(simple.ok());
  CHECK(Operators(*simple) == Ops{"Add"});
}

TEST_CASE("RemoveNoOps, ChainOfIdentitiesVanishes", "[transform]") {
  CHECK(OperatorsAfter(
            "input x float32[2,3]\na = Identity(x)\nb = Identity(a)\nc = Relu(b)\ny = Identity(c)\noutput y\n") ==
        Ops{"Relu"});
}

TEST_CASE("RemoveNoOps, OutputThatIsTheInputKeepsItsName", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3]\ny = Identity(x)\noutput y\n") == Ops{"Identity"});
}

TEST_CASE("RemoveNoOps, NeutralFactorsGoUnlessTheyBroadcast", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3]\nconst one float32[1] ones\na = Mul(x, one)\ny = Relu(a)\noutput y\n") ==
        Ops{"Relu"});
  CHECK(OperatorsAfter("input x float32[1,3]\nconst one float32[2,3] ones\na = Mul(x, one)\ny = Relu(a)\noutput y\n") ==
        Ops{"Mul", "Relu"});
}

TEST_CASE("RemoveNoOps, TransposeOfEqualDimsStays", "[transform]") {
  CHECK(OperatorsAfter("input x float32[3,3]\na = Transpose(x) perm=[1,0]\ny = Relu(a)\noutput y\n") ==
        Ops{"Transpose", "Relu"});
  CHECK(OperatorsAfter("input x float32[3,3]\na = Transpose(x) perm=[0,1]\ny = Relu(a)\noutput y\n") == Ops{"Relu"});
}

TEST_CASE("MergeViews, OppositeTransposesCancel", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3,4]\na = Transpose(x) perm=[2,0,1]\nb = Transpose(a) perm=[1,2,0]\ny = "
                       "Relu(b)\noutput y\n") == Ops{"Relu"});
  CHECK(OperatorsAfter("input x float32[2,3,4]\na = Transpose(x) perm=[2,0,1]\nb = Transpose(a) perm=[2,0,1]\ny = "
                       "Relu(b)\noutput y\n") == Ops{"Transpose", "Relu"});
}

// What is left of the shapes of the values between input and output.
std::string ShapesBetween(const std::string& text) {
  const Graph graph = Simplified(Parsed(text));
  std::string shapes;
  for (const Node& node : graph.nodes()) {
    shapes += node.op + DimsText(*graph.value(node.outputs[0]).type.static_dims()) + " ";
  }
  return shapes;
}

TEST_CASE("TurnFlattenedImages, ChannelsGoLastBeforeTheImageIsFlattened", "[transform]") {
  const std::string image =
      "input a float32[2,3,4,5]\nx = Relu(a)\nconst to int64[3] ints 2 3 20\nf = Reshape(x, to)\n";
  CHECK(ShapesBetween(image + "y = Transpose(f) perm=[0,2,1]\noutput y\n") ==
        "Relu[2,3,4,5] Transpose[2,4,5,3] Reshape[2,20,3] ");
  CHECK(ShapesBetween(image + "y = Transpose(f) perm=[2,0,1]\noutput y\n") ==
        "Relu[2,3,4,5] Transpose[4,5,2,3] Reshape[20,2,3] ");
  CHECK(ShapesBetween("input a float32[2,3,4,5,2]\nx = Relu(a)\nconst to int64[3] ints 2 3 40\nf = Reshape(x, to)\n"
                      "y = Transpose(f) perm=[0,2,1]\noutput y\n") ==
        "Relu[2,3,4,5,2] Transpose[2,4,5,2,3] Reshape[2,40,3] ");
}

TEST_CASE("TurnFlattenedImages, TokensBecomeAnImageBeforeTheirChannelsGoFirst", "[transform]") {
  CHECK(ShapesBetween("input a float32[2,20,3]\nx = Relu(a)\nt = Transpose(x) perm=[0,2,1]\n"
                      "const to int64[4] ints 2 3 4 5\nf = Reshape(t, to)\ny = Relu(f)\noutput y\n") ==
        "Relu[2,20,3] Reshape[2,4,5,3] Transpose[2,3,4,5] Relu[2,3,4,5] ");
  CHECK(ShapesBetween("input a float32[20,2,3]\nx = Relu(a)\nt = Transpose(x) perm=[1,2,0]\n"
                      "const to int64[4] ints 2 3 4 5\nf = Reshape(t, to)\ny = Relu(f)\noutput y\n") ==
        "Relu[20,2,3] Reshape[4,5,2,3] Transpose[2,3,4,5] Relu[2,3,4,5] ");
}

TEST_CASE("TurnFlattenedImages, OtherOrdersAndWhatIsReadElsewhereStay", "[transform]") {
  const std::string image =
      "input a float32[2,3,4,5]\nx = Relu(a)\nconst to int64[3] ints 2 3 20\nf = Reshape(x, to)\n";
  const std::string kept = "Relu[2,3,4,5] Reshape[2,3,20] Transpose";
  CHECK(ShapesBetween(image + "y = Transpose(f) perm=[1,0,2]\noutput y\n").starts_with(kept));
  CHECK(ShapesBetween(image + "y = Transpose(f) perm=[0,2,1]\noutput y\noutput f\n").starts_with(kept));
  // Dims that are made one otherwise, and sequences that are taken apart into heads.
  CHECK(ShapesBetween("input a float32[2,3,4,5]\nx = Relu(a)\nconst to int64[3] ints 2 12 5\nf = Reshape(x, to)\n"
                      "y = Transpose(f) perm=[0,2,1]\noutput y\n") ==
        "Relu[2,3,4,5] Reshape[2,12,5] Transpose[2,5,12] ");
  CHECK(ShapesBetween("input a float32[2,6,20]\ninput b float32[2,20,3,7]\nx = Relu(a)\nt = Transpose(x) perm=[0,2,1]\n"
                      "const to int64[4] ints 2 20 2 3\nf = Reshape(t, to)\ny = MatMul(f, b)\noutput y\n") ==
        "Relu[2,6,20] Transpose[2,20,6] Reshape[2,20,2,3] MatMul[2,20,2,7] ");
}

TEST_CASE("MergeViews, ChainOfReshapesIsOne", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[2,3,4]
const a int64[1] ints -1
const b int64[2] ints 4 6
u = Reshape(x, a)
v = Reshape(u, b)
y = Relu(v)
output y
)") == Ops{"Reshape", "Relu"});
}

TEST_CASE("FoldAffine, ConvTakesScaleAndShift", "[transform]") {
  for (const char* convolution : {"c = Conv(x, w)\n", "c = Conv(x, w, b)\n"}) {
    CHECK(OperatorsAfter(std::string(R"(
input x float32[1,3,5,5]
const w float32[4,3,3,3] random 1
const b float32[4] random 2
const scale float32[4] random 3
const shift float32[4] random 4
const mean float32[4] random 5
const variance float32[4] value 0.7
)") + convolution + "y = BatchNormalization(c, scale, shift, mean, variance)\noutput y\n") == Ops{"Conv"});
  }
}

TEST_CASE("FoldAffine, ConvReadElsewhereStays", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[1,3,5,5]
const w float32[4,3,3,3] random 1
const scale float32[4] random 3
const shift float32[4] random 4
const mean float32[4] random 5
const variance float32[4] value 0.7
c = Conv(x, w)
n = BatchNormalization(c, scale, shift, mean, variance)
y = Add(c, n)
output y
)") == Ops{"Conv", "BatchNormalization", "Add"});
}

TEST_CASE("FoldAffine, GemmAndGroupedConvTranspose", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[2,3]
const w float32[3,4] random 1
const b float32[4] random 2
const scale float32[4] random 3
const shift float32[4] random 4
const mean float32[4] random 5
const variance float32[4] value 0.7
c = Gemm(x, w, b)
y = BatchNormalization(c, scale, shift, mean, variance)
output y
)") == Ops{"Gemm"});
  CHECK(OperatorsAfter(R"(
input x float32[1,4,3,3]
const w float32[4,3,2,2] random 1
const scale float32[6] random 3
const shift float32[6] random 4
const mean float32[6] random 5
const variance float32[6] value 0.7
c = ConvTranspose(x, w) group=2
y = BatchNormalization(c, scale, shift, mean, variance)
output y
)") == Ops{"Conv"});
}

// Every element against the formula, bit for bit: in runs a channel, channel by channel, and by groups; odd sizes, and
// numbers that no product changes back.
TEST_CASE("FoldAffine, WeightsAreTheProductsInDoublePrecisionRoundedOnce", "[transform]") {
  struct Case {
    std::string input, product;
    std::vector<int64_t> dims;
    int64_t channels;
    std::function<int64_t(const std::vector<int64_t>&)> channel;  // of a weight's index
  };
  const Case cases[] = {
      {"float32[1,5,9,9]", "Conv(x, w)", {7, 5, 3, 3}, 7, [](const auto& i) { return i[0]; }},
      {"float32[1,6,9,9]", "Conv(x, w) group=6", {6, 1, 3, 3}, 6, [](const auto& i) { return i[0]; }},
      {"float32[1,5,9]", "Conv(x, w)", {17, 5, 1}, 17, [](const auto& i) { return i[0]; }},
      {"float32[1,1,9]", "Conv(x, w)", {3, 1, 1}, 3, [](const auto& i) { return i[0]; }},
      {"float32[2,19]", "Gemm(x, w)", {19, 37}, 37, [](const auto& i) { return i[1]; }},
      {"float32[2,1]", "Gemm(x, w)", {1, 1}, 1, [](const auto& i) { return i[1]; }},
      {"float32[2,19]", "Gemm(x, w) transB=1", {37, 19}, 37, [](const auto& i) { return i[0]; }},
      {"float32[1,4,5,5]", "ConvTranspose(x, w)", {4, 5, 3, 1}, 5, [](const auto& i) { return i[1]; }},
      {"float32[1,6,5,5]",
       "ConvTranspose(x, w) group=3",
       {6, 5, 1, 3},
       15,
       [](const auto& i) { return i[0] / 2 * 5 + i[1]; }},
      {"float32[1,6,5]",
       "ConvTranspose(x, w) group=3",
       {6, 5, 1},
       15,
       [](const auto& i) { return i[0] / 2 * 5 + i[1]; }},
  };
  for (const Case& c : cases) {
    INFO(c.product << DimsText(c.dims));
    const std::string vector = " float32[" + std::to_string(c.channels) + "] ";
    const Graph plain = Parsed(
        "input x " + c.input + "\nconst w float32" + DimsText(c.dims) + " random 1\nconst scale" + vector +
        "random 3\nconst shift" + vector + "random 4\nconst mean" + vector + "random 5\nconst variance" + vector +
        "value 0.7\nc = " + c.product + "\ny = BatchNormalization(c, scale, shift, mean, variance)\noutput y\n");
    GraphBuilder builder(plain);
    const ValueId w = plain.find_value("w");
    const auto original = plain.value(w).constant->values<float>();
    std::vector<float> odd(original.begin(), original.end());
    constexpr float kOdd[] = {NAN, INFINITY, -INFINITY, -0.0F, 1e-42F, 3.4e38F};
    for (size_t i = 0; i < odd.size(); i += 5) odd[i] = kOdd[i / 5 % std::size(kOdd)];
    builder.ReplaceUses(w, builder.AddConstant("odd", Tensor::Float32(c.dims, odd)));
    const auto folded = FoldAffine(builder.Build(false).value(), Context());
    REQUIRE((folded.ok() && folded->has_value()));
    const Node& product = (*folded)->nodes()[0];
    const auto got = (*folded)->value(product.inputs[1]).constant->values<float>();
    REQUIRE(got.size() == odd.size());
    std::vector<int64_t> index(c.dims.size(), 0);
    for (size_t i = 0; i < odd.size(); ++i) {
      const auto channel = static_cast<size_t>(c.channel(index));
      const auto at = [&](const char* name) {
        return static_cast<double>(plain.value(plain.find_value(name)).constant->values<float>()[channel]);
      };
      const double factor = at("scale") / std::sqrt(at("variance") + static_cast<double>(1e-5F));
      const auto expected = static_cast<float>(static_cast<double>(odd[i]) * factor);
      REQUIRE((std::bit_cast<uint32_t>(got[i]) == std::bit_cast<uint32_t>(expected) ||
               (std::isnan(got[i]) && std::isnan(expected))));
      for (size_t d = index.size(); d-- > 0 && ++index[d] == c.dims[d];) index[d] = 0;
    }
  }
}

TEST_CASE("FoldAffine, FactorsOfMatMulGoIntoItsWeights", "[transform]") {
  constexpr std::string_view kHead = R"(
input x float32[2,5,8]
const w float32[8,6] random 1
const b float32[6] random 2
const s float32[6] random 3
const eight float32[] value 8
const v float32[6] ones
const rows int64[2] ints -1 6
const back int64[3] ints 2 5 6
p = MatMul(x, w)
)";
  const auto after = [&](std::string_view rest) { return OperatorsAfter(std::string(kHead) + std::string(rest)); };
  CHECK(after("q = Add(p, b)\ny = Mul(q, s)\noutput y\n") == Ops{"MatMul", "Add"});
  CHECK(after("q = Mul(p, s)\ny = Div(q, eight)\noutput y\n") == Ops{"MatMul"});
  CHECK(after("y = Sub(p, b)\noutput y\n") == Ops{"MatMul", "Sub"});
  // Linear and BatchNorm1d of tokens, as torch writes them.
  CHECK(after("r = Reshape(p, rows)\nn = BatchNormalization(r, s, b, b, v)\nq = Reshape(n, back)\ny = Relu(q)\n"
              "output y\n") == Ops{"MatMul", "Add", "Relu"});
}

TEST_CASE("FoldAffine, OtherFactorsOfMatMulStay", "[transform]") {
  for (const char* rest :
       {"const s float32[5,1] random 3\ny = Mul(p, s)\noutput y\n",      // of another dim
        "const s float32[1,1,1,6] random 3\ny = Mul(p, s)\noutput y\n",  // one dim more
        "const s float32[5] random 3\nconst v float32[5] ones\ny = BatchNormalization(p, s, s, s, v)\noutput y\n",
        "const s float32[6] random 3\ny = Div(s, p)\noutput y\n",            // divides by the product
        "const s float32[6] value 1e-20\ny = Mul(p, s)\noutput y\n",         // to weights next to zero
        "const s float32[6] random 3\ny = Mul(p, s)\noutput y\noutput p\n",  // the product is read elsewhere
        "const s float32[6] random 3\ny = Mul(p, s)\nz = MatMul(x, w)\na = Relu(z)\noutput y\noutput a\n"}) {
    INFO(rest);
    const Ops ops =
        OperatorsAfter("input x float32[2,5,8]\nconst w float32[8,6] random 1\np = MatMul(x, w)\n" + std::string(rest));
    CHECK(ops.size() >= 2);
  }
}

TEST_CASE("FoldAffine, ConvTakesConstantFactors", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[1,3,6,6]
const w float32[4,3,3,3] random 1
const b float32[4] random 2
const gamma float32[4,1,1] random 3
const fifth float32[] value 0.2
c = Conv(x, w, b)
d = Mul(c, gamma)
e = Mul(fifth, d)
y = Relu(e)
output y
)") == Ops{"Conv", "Relu"});
}

TEST_CASE("SinkConcats, NormalisationAndActivationBecomePartOfEachConvolution", "[transform]") {
  constexpr std::string_view kHead = R"(
input x float32[2,6,8,8]
const w0 float32[4,6,1,1] random 1
const w1 float32[3,6,3,3] random 2
const s float32[7] random 3
const m float32[7] random 4
const v float32[7] ones
const slope float32[7,1,1] random 5
const zero float32[] value 0
const three float32[] value 3
const six float32[] value 6
a = Conv(x, w0)
b = Conv(x, w1) pads=[1,1,1,1]
c = Concat(a, b) axis=1
)";
  const auto after = [&](std::string_view rest) { return OperatorsAfter(std::string(kHead) + std::string(rest)); };
  CHECK(after("y = BatchNormalization(c, s, m, m, v)\noutput y\n") == Ops{"Conv", "Conv", "Concat"});
  CHECK(
      after("n = BatchNormalization(c, s, m, m, v)\ng = Sigmoid(n)\nt = Mul(n, g)\ny = MaxPool(t) kernel_shape=[2,2]\n"
            "output y\n") == Ops{"Conv", "Conv", "Sigmoid", "Mul", "Sigmoid", "Mul", "Concat", "MaxPool"});
  CHECK(after("y = PRelu(c, slope)\noutput y\n") == Ops{"Conv", "Conv", "PRelu", "PRelu", "Concat"});
  // HardSwish as older exporters spell it.
  CHECK(after("p = Add(c, three)\nq = Clip(p, zero, six)\nr = Mul(c, q)\ny = Div(r, six)\noutput y\n") ==
        Ops{"Conv", "Conv", "Add", "Add", "Clip", "Clip", "Mul", "Mul", "Div", "Div", "Concat"});
}

TEST_CASE("SinkConcats, WhatCannotGoByPartStays", "[transform]") {
  constexpr std::string_view kHead = R"(
input x float32[2,6,8,8]
input z float32[2,7,8,8]
const w0 float32[4,6,1,1] random 1
const w1 float32[3,6,1,1] random 2
const column float32[8] random 3
a = Conv(x, w0)
b = Conv(x, w1)
)";
  for (const char* rest :
       {"c = Concat(a, b) axis=1\ny = Mul(c, column)\noutput y\n", "c = Concat(a, b) axis=1\ny = Add(c, z)\noutput y\n",
        "c = Concat(a, b) axis=1\ny = Relu(c)\noutput y\noutput c\n",
        "c = Concat(a, b) axis=1\ny = Relu(c)\noutput y\noutput b\n",
        "c = Concat(a, b, z) axis=1\ny = Relu(c)\noutput y\n",
        "c = Concat(a, b) axis=1\nd = Relu(c)\ne = Exp(c)\ny = MatMul(d, e)\noutput y\n",
        "c = Concat(a, a) axis=1\ny = Relu(c)\noutput y\noutput b\n",
        "d = Conv(x, w0) pads=[1,0,1,0]\nc = Concat(a, d) axis=2\ny = Relu(c)\noutput y\noutput b\n"}) {
    INFO(rest);
    const std::string text = std::string(kHead) + rest;
    const Graph before = Parsed(text), after = Simplified(before);
    CHECK(Operators(after) == Operators(before));
  }
}

TEST_CASE("ShareCommonSubexpressions, EqualNodesBecomeOne", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3]\na = Exp(x)\nb = Exp(x)\ny = Add(a, b)\noutput y\n") == Ops{"Exp", "Add"});
  CHECK(OperatorsAfter("input x float32[2,3]\na = Elu(x) alpha=1.0\nb = Elu(x) alpha=2.0\ny = Add(a, b)\noutput y\n") ==
        Ops{"Elu", "Elu", "Add"});
}

TEST_CASE("DropDeadCode, UnreadBranchGoes", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3]\na = Exp(x)\nb = Relu(x)\noutput b\n") == Ops{"Relu"});
}

TEST_CASE("Passes, SourcesOfMergedNodesAreKept", "[transform]") {
  const Graph graph =
      Parsed("input x float32[2,3,4]\na = Transpose(x) perm=[2,0,1]\ny = Transpose(a) perm=[2,0,1]\noutput y\n");
  const Graph simple = Simplified(graph);
  REQUIRE(simple.nodes().size() == 1);
  CHECK(simple.nodes()[0].source.size() == graph.nodes()[0].source.size() + graph.nodes()[1].source.size());
}

}  // namespace
}  // namespace pt::testing::passes_test
