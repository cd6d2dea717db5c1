// Passes around products: what is added behind them, and transposed convolutions made convolutions.
#include "test/transform/passes_lab.h"

namespace pt::testing::product_passes_test {
namespace {

TEST_CASE("FoldAffine, AddedConstantsBecomeTheBias", "[transform]") {
  for (const char* shift : {"[4,1,1]", "[1,4,1,1]", "[1]", "[]", "[1,1,1,1]"}) {
    for (const char* convolution : {"c = Conv(x, w)\n", "c = Conv(x, w, b)\n"}) {
      for (const char* sum : {"y = Add(c, s)\n", "y = Add(s, c)\n"}) {
        INFO(shift << " " << convolution << sum);
        CHECK(OperatorsAfter("input x float32[2,3,5,5]\nconst w float32[4,3,3,3] random 1\nconst b float32[4] random "
                             "2\nconst s float32" +
                             std::string(shift) + " random 3\n" + convolution + sum + "output y\n") == Ops{"Conv"});
      }
    }
  }
  CHECK(OperatorsAfter("input x float32[2,3]\nconst w float32[3,4] random 1\nconst s float32[1,4] random 2\n"
                       "c = Gemm(x, w)\ny = Add(c, s)\noutput y\n") == Ops{"Gemm"});
}

TEST_CASE("FoldAffine, OnlyOneNumberAChannelIsFolded", "[transform]") {
  // By place, by batch, with a rank of its own, twice the product, and not a constant.
  for (const char* sum :
       {"const s float32[3,4] random 3\ny = Add(c, s)\n", "const s float32[4] random 3\ny = Add(c, s)\n",
        "const s float32[4,4,1,1] random 3\ny = Add(c, s)\n", "const s float32[1,1,1,1,1] random 3\ny = Add(c, s)\n",
        "y = Add(c, c)\n", "input s float32[4,1,1]\ny = Add(c, s)\n"}) {
    INFO(sum);
    CHECK(OperatorsAfter(std::string("input x float32[4,3,5,6]\nconst w float32[4,3,3,3] random 1\nc = Conv(x, w)\n") +
                         sum + "output y\n") == Ops{"Conv", "Add"});
  }
}

// As converters from other frameworks write a convolution's bias.
TEST_CASE("FoldAffine, ChainsAreFoldedAtOnce", "[transform]") {
  CHECK(OperatorsAfter(R"(
input x float32[1,3,5,5]
const w float32[3,4,2,2] random 1
const s float32[1,4,1,1] random 2
const scale float32[4] random 3
const shift float32[4] random 4
const mean float32[4] random 5
const variance float32[4] value 0.7
c = ConvTranspose(x, w)
a = Add(c, s)
n = BatchNormalization(a, scale, shift, mean, variance)
y = Add(n, s)
output y
)") == Ops{"Conv"});
}

struct Transposed {
  std::string input, weights, attributes;
  int64_t channels;
};

std::string TextOf(const Transposed& c, const std::string& behind) {
  return "input x float32" + c.input + "\nconst w float32" + c.weights + " random 1\nconst b float32[" +
         std::to_string(c.channels) + "] random 2\nc = ConvTranspose(x, w, b) " + c.attributes + "\n" + behind;
}

const Transposed kSliding[] = {
    {"[2,3,7]", "[3,4,1]", "", 4},
    {"[2,3,7]", "[3,4,3]", "pads=[1,2]", 4},
    {"[1,4,5,6]", "[4,3,3,2]", "", 3},
    {"[1,4,5,6]", "[4,3,3,5]", "pads=[2,4,0,3]", 3},
    {"[1,4,5,6]", "[4,3,3,3]", "dilations=[2,3] pads=[3,0,4,6]", 3},
    {"[1,16,19,5]", "[16,1,3,3]", "group=16 dilations=[5,1] pads=[10,1,10,1]", 16},
    {"[2,6,4,4]", "[6,2,2,3]", "group=3 kernel_shape=[2,3] strides=[1,1] output_padding=[0,0]", 6},
    {"[1,2,3,4,2]", "[2,3,2,1,3]", "pads=[0,0,1,1,0,1]", 3},
};

const Transposed kBlocks[] = {
    {"[2,3,7]", "[3,4,2]", "strides=[2]", 4},
    {"[1,4,5,6]", "[4,3,2,2]", "strides=[2,2]", 3},
    {"[1,4,5,6]", "[4,1,2,3]", "strides=[2,3]", 1},
    {"[2,6,4,3]", "[6,2,3,2]", "strides=[3,2] group=3", 6},
    {"[1,4,5,6]", "[4,3,3,2]", "strides=[1,2] pads=[1,0,2,0]", 3},
    {"[1,4,5,6]", "[4,3,4,3]", "strides=[4,1] dilations=[1,2] pads=[0,4,0,1]", 3},
    {"[1,2,3,4,2]", "[2,3,2,3,2]", "strides=[2,1,2] pads=[0,1,0,0,2,0]", 3},
    {"[1,2,1,1]", "[2,3,7,5]", "strides=[7,5]", 3},
};

TEST_CASE("TurnTransposedConvolutions, WindowsThatMoveByOneAreConvolutions", "[transform]") {
  for (const Transposed& c : kSliding) {
    INFO(c.weights << " " << c.attributes);
    CHECK(OperatorsAfter(TextOf(c, "output c\n")) == Ops{"Conv"});
  }
}

TEST_CASE("TurnTransposedConvolutions, WindowsSideBySideAreChannels", "[transform]") {
  for (const Transposed& c : kBlocks) {
    INFO(c.weights << " " << c.attributes);
    const Ops ops = OperatorsAfter(TextOf(c, "output c\n"));
    CHECK(ops.front() == "Conv");
    CHECK(std::ranges::count(ops, "ConvTranspose") == 0);
    CHECK(std::ranges::count(ops, "Transpose") == 1);
  }
}

TEST_CASE("TurnTransposedConvolutions, ElementwiseOperatorsComeBeforeTheTranspose", "[transform]") {
  const Graph simple = Simplified(Parsed(TextOf(kBlocks[1], "r = Relu(c)\ny = Sigmoid(r)\noutput y\n")));
  CHECK(Operators(simple) == Ops{"Conv", "Relu", "Sigmoid", "Reshape", "Transpose", "Reshape"});
  // Not what somebody reads besides, nor what is an output.
  CHECK(OperatorsAfter(TextOf(kBlocks[1], "r = Relu(c)\ny = Add(r, c)\noutput y\n")) ==
        Ops{"Conv", "Reshape", "Transpose", "Reshape", "Relu", "Add"});
  CHECK(OperatorsAfter(TextOf(kBlocks[1], "r = Relu(c)\noutput r\ny = Tanh(r)\noutput y\n")) ==
        Ops{"Conv", "Relu", "Reshape", "Transpose", "Reshape", "Tanh"});
}

TEST_CASE("TurnTransposedConvolutions, OtherWindowsStay", "[transform]") {
  const Transposed cases[] = {
      {"[1,4,5,6]", "[4,3,3,3]", "strides=[2,2]", 3},                       // they overlap
      {"[1,4,5,6]", "[4,3,2,2]", "strides=[3,3]", 3},                       // they leave gaps
      {"[1,4,5,6]", "[4,3,2,2]", "strides=[2,2] pads=[1,0,0,0]", 3},        // a block is cut
      {"[1,4,5,6]", "[4,3,2,2]", "strides=[2,2] output_padding=[1,0]", 3},  // a row that no window reaches
      {"[1,4,5,6]", "[4,3,2,2]", "strides=[2,2] dilations=[2,1]", 3},       // blocks lie within each other
      {"[1,4,5,6]", "[4,3,2,2]", "pads=[2,0,0,0]", 3},                      // inputs are left out
      {"[1,4,5,6]", "[4,3,2,2]", "strides=[2,2] auto_pad=\"SAME_UPPER\"", 3},
      {"[1,4,5,6]", "[4,3,2,2]", "strides=[2,2] output_shape=[10,12]", 3},
  };
  for (const Transposed& c : cases) {
    INFO(c.weights << " " << c.attributes);
    CHECK(OperatorsAfter(TextOf(c, "output c\n")) == Ops{"ConvTranspose"});
  }
  CHECK(OperatorsAfter("input x float32[1,4,5,6]\ninput w float32[4,3,2,2]\nc = ConvTranspose(x, w) strides=[2,2]\n"
                       "output c\n") == Ops{"ConvTranspose"});
}

// ---- matrices of a few bits an element ----

std::string BlocksOf(const std::string& dims, const std::string& parameters, const std::string& axis) {
  return "const q uint4" + dims + " whole 1\nconst s float32" + parameters + " random 2\nconst z uint4" + parameters +
         " whole 3\nw = DequantizeLinear(q, s, z) axis=" + axis + " block_size=32\n";
}

TEST_CASE("FoldConstants, PackedMatricesOfProductsStay", "[transform]") {
  const std::string x = "input x float32[2,256]\n", matrix = BlocksOf("[256,128]", "[8,128]", "0");
  CHECK(OperatorsAfter(x + matrix + "y = MatMul(x, w)\noutput y\n") == Ops{"DequantizeLinear", "MatMul"});
  CHECK(OperatorsAfter(x + BlocksOf("[128,256]", "[128,8]", "1") + "y = Gemm(x, w) transB=1\noutput y\n") ==
        Ops{"DequantizeLinear", "Gemm"});
  // Small ones, what is read otherwise, and blocks along the columns are real numbers from the beginning.
  CHECK(OperatorsAfter("input x float32[2,64]\n" + BlocksOf("[64,128]", "[2,128]", "0") +
                       "y = MatMul(x, w)\noutput y\n") == Ops{"MatMul"});
  CHECK(OperatorsAfter("input x float32[256,128]\n" + matrix + "y = Add(x, w)\noutput y\n") == Ops{"Add"});
  CHECK(OperatorsAfter(x + BlocksOf("[256,128]", "[256,4]", "1") + "y = MatMul(x, w)\noutput y\n") == Ops{"MatMul"});
  CHECK(OperatorsAfter(x + matrix + "y = MatMul(x, w)\na = Abs(w)\noutput y\noutput a\n") ==
        Ops{"DequantizeLinear", "MatMul"});
}

TEST_CASE("FoldConstants, EachProductHasAPackedMatrixOfItsOwn", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,256]\ninput v float32[3,256]\n" + BlocksOf("[256,128]", "[8,128]", "0") +
                       "y = MatMul(x, w)\nu = MatMul(v, w)\noutput y\noutput u\n") ==
        Ops{"DequantizeLinear", "DequantizeLinear", "MatMul", "MatMul"});
}

// As the loader spells experts out, before anything is folded.
std::string ExpertsOf(const std::string& outputs) {
  const auto layer = [](const std::string& name) {
    return "const q" + name + " uint4[4,32,32] whole 1\nconst s" + name + " float32[4,32,1] random 2\nf" + name +
           " = DequantizeLinear(q" + name + ", s" + name + ") axis=2 block_size=32\nw" + name + " = Transpose(f" +
           name + ") perm=[0,2,1]\nconst a" + name + " float32[4,32] random 3\nb" + name + " = Unsqueeze(a" + name +
           ", one)\n";
  };
  return "input x float32[1,3,32]\ninput r float32[3,4]\nconst k int64[1] ints 2\nconst zero float32[] zeros\n"
         "const first int64[1] ints 0\nconst one int64[1] ints 1\nconst two int64[1] ints 2\n" +
         layer("u") + layer("d") +
         "u0 = MatMul(x, wu)\nu = Add(u0, bu)\ni = Relu(u)\nd0 = MatMul(i, wd)\nd = Add(d0, bd)\n"
         "p = Softmax(r) axis=1\nshare, index = TopK(p, k) axis=1\nsize = Shape(r)\nnone = Expand(zero, size)\n"
         "all = ScatterElements(none, index, share) axis=1\nturned = Transpose(all) perm=[1,0]\n"
         "weight = Unsqueeze(turned, two)\ncounted = Mul(d, weight)\nunchosen = Equal(weight, zero)\n"
         "kept = Where(unchosen, zero, counted)\ny = ReduceSum(kept, first) keepdims=0\noutput y\n" +
         outputs;
}

TEST_CASE("FoldConstants, PackedMatricesOfExpertsStay", "[transform]") {
  const auto kept = [](const std::string& text) {
    const Ops ops = OperatorsAfter(text);
    return std::ranges::count(ops, "DequantizeLinear");
  };
  CHECK(kept(ExpertsOf("")) == 2);
  CHECK(kept(ExpertsOf("output i\n")) == 0);  // no kernel computes the chosen experts alone
}

TEST_CASE("MoveQuantisation, PackedMatricesAreTurnedAsTheyAre", "[transform]") {
  const std::string x = "input x float32[2,256]\n", end = "t = Transpose(w)\ny = MatMul(x, t)\noutput y\n";
  for (const std::string& matrix :
       {BlocksOf("[128,256]", "[128,8]", "1"), BlocksOf("[128,256]", "[128,8]", "-1"),
        std::string(
            "const q int8[128,256] whole 1\nconst s float32[128] random 2\nw = DequantizeLinear(q, s) axis=0\n"),
        std::string("const q int8[128,256] whole 1\nconst s float32[] value 0.01\nw = DequantizeLinear(q, s)\n")}) {
    CHECK(OperatorsAfter(x + matrix + end) == Ops{"DequantizeLinear", "MatMul"});
  }
}

// ---- matrices on the left ----

TEST_CASE("TurnLeftMatrices, AVectorIsMultipliedByTheMatrixTurnedAround", "[transform]") {
  const auto turned = [](const std::string& text) {
    const Graph after = Simplified(Parsed(text));
    for (const Node& node : after.nodes()) {
      if (node.op == "MatMul") return after.value(node.inputs[1]).is_constant();
    }
    return false;
  };
  for (const char* dims : {"[5,7]", "[33,40]", "[1,7]", "[7,1]"}) {
    const std::string columns = std::string(dims).substr(std::string(dims).find(',') + 1);
    CHECK(
        turned("input x float32[" + columns + "\nconst m float32" + dims + " random 1\ny = MatMul(m, x)\noutput y\n"));
  }
  CHECK(!turned("input x float32[7,2]\nconst m float32[5,7] random 1\ny = MatMul(m, x)\noutput y\n"));
  CHECK(!turned("input x float32[7]\nconst m float32[2,5,7] random 1\ny = MatMul(m, x)\noutput y\n"));
  CHECK(!turned("input x float32[7]\ninput m float32[5,7]\ny = MatMul(m, x)\noutput y\n"));
}

// ---- whole rows ----

TEST_CASE("GatherWholeRows, IndicesAlongTheAxisAloneTakeRows", "[transform]") {
  const auto ops = [](const std::string& indices, const std::string& shape, const char* op = "Expand") {
    return OperatorsAfter(
        "input x float32[1,3,6,5]\ninput k float32[4]\nconst rows int64[4] ints 1 1 4 1\n"
        "const c int64" +
        indices + " ints 5 0 -1 2\nconst dims int64[4] ints " + shape +
        "\nt = Cast(k) to=7\nr = Reshape(t, rows)\ni = Add(r, c)\nj = " + op +
        "(i, dims)\n"
        "y = GatherElements(x, j) axis=2\noutput y\n");
  };
  const Ops whole = ops("[1,1,4,1]", "1 3 4 5");
  CHECK(std::ranges::find(whole, "Gather") != whole.end());
  CHECK(std::ranges::find(whole, "GatherElements") == whole.end());
  const Ops tiled = ops("[1,1,4,1]", "1 3 1 5", "Tile");
  CHECK(std::ranges::find(tiled, "GatherElements") == tiled.end());
  // Part of the rows.
  const Ops part = ops("[1,1,4,1]", "1 2 4 5");
  CHECK(std::ranges::find(part, "GatherElements") != part.end());
}

// As networks on graphs add up the messages that reach a node.
TEST_CASE("GatherWholeRows, UpdatesOfWholeRowsAreScattered", "[transform]") {
  const auto scatters_rows = [](const std::string& type, const std::string& updates, const std::string& axis) {
    const bool first = axis != "1";
    const Ops ops = OperatorsAfter("input x float32[6,5]\ninput u float32" + updates + "\ninput k float32" +
                                   (first ? "[4,1]" : "[1,4]") + "\nconst c " + type + (first ? "[4,1]" : "[1,4]") +
                                   " ints 4 0 -1 4\nconst dims int64[2] ints " + (first ? "4 5" : "6 4") +
                                   "\nt = Cast(k) to=" + (type == "int64" ? "7" : "6") +
                                   "\ni = Add(t, c)\nj = Expand(i, dims)\ny = ScatterElements(x, j, u) axis=" + axis +
                                   " reduction=\"add\"\noutput y\n");
    return std::ranges::find(ops, "ScatterND") != ops.end();
  };
  CHECK(scatters_rows("int64", "[4,5]", "0"));
  CHECK(scatters_rows("int64", "[4,5]", "-2"));
  // ScatterND has no axis, and no indices of int32.
  CHECK_FALSE(scatters_rows("int32", "[4,5]", "0"));
  CHECK_FALSE(scatters_rows("int64", "[6,4]", "1"));
}

}  // namespace
}  // namespace pt::testing::product_passes_test
