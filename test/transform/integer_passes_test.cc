// Passes that move quantisation, and what others do with integers.
#include "test/transform/passes_lab.h"

namespace pt::testing::integer_passes_test {
namespace {

// Scales a, b and c, and zero points of 8 bits for them.
constexpr std::string_view kQuantisations =
    "const sa float32[] value 0.05\nconst za uint8[] value 128\nconst sb float32[] value 0.11\nconst zb uint8[] value "
    "3\n"
    "const sw float32[] value 0.02\nconst zw int8[] value 0\n";
Ops QuantisedAfter(std::string_view text) { return OperatorsAfter(std::string(kQuantisations) + std::string(text)); }

TEST_CASE("MoveQuantisation, IntegersTravelThroughMoves", "[transform]") {
  // Through each alone, with the pair around it gone.
  for (const char* move : {"Transpose(r) perm=[0,2,1,3]", "MaxPool(r) kernel_shape=[2,2] strides=[2,2]", "Flatten(r)",
                           "DepthToSpace(r) blocksize=2", "Reshape(r, shape)"}) {
    INFO(move);
    const Ops ops = QuantisedAfter(
        "input x float32[2,4,6,6]\nconst shape int64[2] ints 2 -1\nq = QuantizeLinear(x, sa, za)\n"
        "r = DequantizeLinear(q, sa, za)\nm = " +
        std::string(move) + "\np = QuantizeLinear(m, sa, za)\noutput p\n");
    REQUIRE(ops.size() == 2);
    CHECK(std::ranges::find(ops, "QuantizeLinear") != ops.end());
    CHECK(std::ranges::find(ops, "DequantizeLinear") == ops.end());
  }
  // Unequal parameters: the pair meets and stays.
  CHECK(QuantisedAfter("input x float32[2,4,6,6]\nq = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n"
                       "m = MaxPool(r) kernel_shape=[3,3] pads=[1,1,1,1]\np = QuantizeLinear(m, sb, zb)\noutput p\n") ==
        Ops{"QuantizeLinear", "MaxPool", "DequantizeLinear", "QuantizeLinear"});
}

TEST_CASE("MoveQuantisation, APadByZerosIsOfIntegersBetweenAPair", "[transform]") {
  const std::string in =
      "input x float32[2,4,6,6]\nconst pads int64[8] ints 0 0 0 1 0 0 1 2\nconst none float32[] value 0\nconst one "
      "float32[] value 1\nq = QuantizeLinear(x, sb, zb)\nr = DequantizeLinear(q, sb, zb)\n";
  const std::string out = "d = DequantizeLinear(p, sb, zb)\ny = Relu(d)\noutput y\n";
  for (const char* pad : {"Pad(r, pads)", "Pad(r, pads, none)"}) {
    CHECK(QuantisedAfter(in + "m = " + pad + "\np = QuantizeLinear(m, sb, zb)\n" + out) ==
          Ops{"QuantizeLinear", "Pad", "DequantizeLinear", "Relu"});
  }
  const Ops stays{"QuantizeLinear", "DequantizeLinear", "Pad", "QuantizeLinear", "DequantizeLinear", "Relu"};
  CHECK(QuantisedAfter(in + "m = Pad(r, pads, one)\np = QuantizeLinear(m, sb, zb)\n" + out) == stays);
  CHECK(QuantisedAfter(in + "m = Pad(r, pads) mode=\"reflect\"\np = QuantizeLinear(m, sb, zb)\n" + out) == stays);
  CHECK(QuantisedAfter(in + "m = Pad(r, pads)\np = QuantizeLinear(m, sa, za)\nd = DequantizeLinear(p, sa, za)\ny = "
                            "Relu(d)\noutput y\n") == stays);
}

TEST_CASE("MoveQuantisation, PairOfUnequalParametersStays", "[transform]") {
  CHECK(QuantisedAfter("input x float32[40]\nq = QuantizeLinear(x, sb, zb)\nr = DequantizeLinear(q, sb, zb)\n"
                       "p = QuantizeLinear(r, sa, za)\nd = DequantizeLinear(p, sa, za)\noutput d\n") ==
        Ops{"QuantizeLinear", "DequantizeLinear", "QuantizeLinear", "DequantizeLinear"});
}

TEST_CASE("MoveQuantisation, ConcatIsOfIntegers", "[transform]") {
  constexpr std::string_view kTwo =
      "input x float32[2,3,4]\ninput y float32[2,5,4]\nq = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, "
      "za)\n";
  CHECK(QuantisedAfter(std::string(kTwo) + "p = QuantizeLinear(y, sa, za)\ns = DequantizeLinear(p, sa, za)\n"
                                           "c = Concat(r, s) axis=1\nz = Relu(c)\noutput z\n") ==
        Ops{"QuantizeLinear", "QuantizeLinear", "Concat", "DequantizeLinear", "Relu"});
  // Quantised once more, each by itself, where they differ.
  const Ops ops = QuantisedAfter(std::string(kTwo) +
                                 "p = QuantizeLinear(y, sb, zb)\ns = DequantizeLinear(p, sb, zb)\n"
                                 "c = Concat(r, s) axis=1\nz = QuantizeLinear(c, sa, za)\noutput z\n");
  CHECK(ops == Ops{"QuantizeLinear", "QuantizeLinear", "DequantizeLinear", "QuantizeLinear", "Concat"});
}

TEST_CASE("MoveQuantisation, OutputsKeepTheirNames", "[transform]") {
  // p equals q; both are outputs, so one is made from the other.
  CHECK(QuantisedAfter("input x float32[2,6]\nq = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n"
                       "m = Transpose(r) perm=[1,0]\np = QuantizeLinear(r, sa, za)\noutput m\noutput p\noutput q\n") ==
        Ops{"QuantizeLinear", "DequantizeLinear", "Transpose", "QuantizeLinear", "DequantizeLinear"});
}

TEST_CASE("SplitDequantisation, EveryReaderHasItsOwn", "[transform]") {
  const Ops ops = QuantisedAfter(
      "input x float32[2,6]\nq = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n"
      "a = Exp(r)\nb = Sin(r)\ny = Add(a, b)\nz = Add(y, r)\noutput z\n");
  CHECK(std::ranges::count(ops, "DequantizeLinear") == 3);
}

TEST_CASE("FoldConstants, KeepsTheIntegersOfQuantisedProducts", "[transform]") {
  constexpr std::string_view kData = "input x float32[1,4,6,6]\nconst w int8[8,4,3,3] whole 1\n";
  constexpr std::string_view kInts = "q = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n";
  const auto after = [&](std::string_view front, std::string_view rest) {
    return QuantisedAfter(std::string(kData) + std::string(front) + std::string(rest));
  };
  constexpr std::string_view kConv = "v = DequantizeLinear(w, sw, zw)\ny = Conv(r, v)\noutput y\n";
  CHECK(after(kInts, kConv) == Ops{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"});
  // A product of real numbers has real weights.
  CHECK(after("r = Relu(x)\n", kConv) == Ops{"Relu", "Conv"});
  // Zero points that do not fit 8-bit weights, and scales along the wrong axis, make real weights, too.
  CHECK(after(kInts, "const z int8[] value 5\nv = DequantizeLinear(w, sw, z)\ny = Conv(r, v)\noutput y\n") ==
        Ops{"QuantizeLinear", "DequantizeLinear", "Conv"});
  CHECK(after(kInts,
              "const s float32[4] random 3\nconst t float32[4] ones\nv = DequantizeLinear(w, t) axis=1\n"
              "y = Conv(r, v)\noutput y\n") == Ops{"QuantizeLinear", "DequantizeLinear", "Conv"});
  CHECK(after(kInts, "const t float32[8] ones\nv = DequantizeLinear(w, t) axis=0\ny = Conv(r, v)\noutput y\n") ==
        Ops{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"});
  // Both kinds of readers get what they want.
  const Ops both = after(kInts,
                         "v = DequantizeLinear(w, sw, zw)\ny = Conv(r, v)\nf = Relu(x)\ng = Conv(f, v)\n"
                         "z = Add(y, g)\noutput z\n");
  CHECK(std::ranges::count(both, "DequantizeLinear") == 2);
  CHECK(std::ranges::count(both, "Conv") == 2);
}

// The operators of a convolution of integers whose weights, with these zero points and attributes, are dequantised.
Ops ConvolutionAfter(std::string_view weights, std::string_view parameters, std::string_view attributes,
                     std::string_view front = "q = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n") {
  return QuantisedAfter("input x float32[2,8,60,50]\nconst w " + std::string(weights) + "\n" + std::string(front) +
                        std::string(parameters) + "y = Conv(r, v) " + std::string(attributes) + "\noutput y\n");
}

TEST_CASE("CentreWeights, WeightsThatFitTakeTheirZeroPointAlong", "[transform]") {
  const Ops integers = {"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"};
  constexpr std::string_view kFew =
      "uint8[3,8,1,1] ints 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 227";
  // From -100 to 127 less the zero point.
  CHECK(ConvolutionAfter(kFew, "const z uint8[] value 100\nv = DequantizeLinear(w, sw, z)\n", "") == integers);
  // One pair for each filter: from -128 to 127 in the last one.
  CHECK(ConvolutionAfter(kFew,
                         "const s float32[3] floats 0.1 0.2 0.3\nconst z uint8[3] ints 7 0 100\n"
                         "v = DequantizeLinear(w, s, z) axis=0\n",
                         "") == integers);
  CHECK(ConvolutionAfter("int8[3,8,1,1] ints -28 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 127",
                         "const z int8[] value 100\nv = DequantizeLinear(w, sw, z)\n", "pads=[1,0,2,1]") == integers);
  // One too far on either side, and too few filters or too little work for the sums of windows.
  const Ops real = {"QuantizeLinear", "DequantizeLinear", "Conv"};
  CHECK(ConvolutionAfter(kFew, "const z uint8[] value 99\nv = DequantizeLinear(w, sw, z)\n", "") == real);
  CHECK(ConvolutionAfter("uint8[40,8,1,1] whole 3", "const z uint8[] value 100\nv = DequantizeLinear(w, sw, z)\n",
                         "") == real);
  CHECK(ConvolutionAfter(kFew, "const z uint8[] value 129\nv = DequantizeLinear(w, sw, z)\n", "") == real);
}

TEST_CASE("CentreWeights, ConvolutionsWithoutFiltersAreLeftAlone", "[transform]") {
  const Graph graph = Parsed(std::string(kQuantisations) +
                             "input x float32[2,8,7,6]\nconst w uint8[0,8,3,3] zeros\nconst z uint8[] value 5\n"
                             "q = QuantizeLinear(x, sa, za)\nr = DequantizeLinear(q, sa, za)\n"
                             "v = DequantizeLinear(w, sw, z)\ny = Conv(r, v)\noutput y\n");
  const auto simple = Simplify(graph, Context());
  REQUIRE(simple.ok());
  CHECK(std::ranges::count(Operators(*simple), "Conv") <= 1);
}

TEST_CASE("CentreWeights, WhatDoesNotFitIsTheSumOfTheWindowTimesANumber", "[transform]") {
  Ops sum = {"QuantizeLinear",
             "DequantizeLinear",
             "DequantizeLinear",
             "DequantizeLinear",
             "DequantizeLinear",
             "Add",
             "Conv",
             "Conv"};
  const auto after = [&](std::string_view weights, std::string_view zero, std::string_view attributes) {
    Ops ops =
        ConvolutionAfter(weights, "const z " + std::string(zero) + "\nv = DequantizeLinear(w, sw, z)\n", attributes);
    std::ranges::sort(ops);
    return ops;
  };
  std::ranges::sort(sum);
  for (const char* attributes : {"", "pads=[1,2,0,1]", "strides=[2,1] dilations=[1,2]", "auto_pad=\"SAME_UPPER\""}) {
    CAPTURE(attributes);
    CHECK(after("uint8[40,8,3,2] whole 3", "uint8[] value 100", attributes) == sum);
    CHECK(after("uint8[40,8,3,2] whole 4", "uint8[] value 255", attributes) == sum);
    CHECK(after("uint8[40,8,3,2] whole 5", "uint8[1] value 0", attributes) == sum);
    CHECK(after("int8[40,8,3,2] whole 6", "int8[] value -128", attributes) == sum);
    CHECK(after("int8[40,8,3,2] whole 7", "int8[] value 9", attributes) == sum);
  }
  // Not where it would have to be done for every group, or times another number for each filter.
  const Ops real = {"QuantizeLinear", "DequantizeLinear", "Conv"};
  CHECK(after("uint8[40,1,3,2] whole 3", "uint8[] value 100", "group=8") ==
        Ops{"Conv", "DequantizeLinear", "QuantizeLinear"});
  CHECK(
      ConvolutionAfter("uint8[40,8,3,2] whole 3",
                       "const s float32[40] ones\nconst z uint8[40] value 100\nv = DequantizeLinear(w, s, z) axis=0\n",
                       "") == real);
  CHECK(ConvolutionAfter("uint8[40,8,3,2] whole 3", "const z uint8[] value 100\nv = DequantizeLinear(w, sw, z)\n", "",
                         "r = Relu(x)\n") == Ops{"Relu", "Conv"});
}

TEST_CASE("FoldConstants, TransposedIntegersOfProductsStayIntegers", "[transform]") {
  const Ops ops = QuantisedAfter(
      "input x float32[5,7]\nconst w int8[9,7] whole 1\nq = QuantizeLinear(x, sa, za)\n"
      "r = DequantizeLinear(q, sa, za)\nv = DequantizeLinear(w, sw, zw)\nt = Transpose(v) perm=[1,0]\n"
      "y = MatMul(r, t)\noutput y\n");
  CHECK(ops == Ops{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "MatMul"});
}

TEST_CASE("ExpandQLinear, ComputesTheSameUpToOneUnit", "[transform]") {
  const Graph graph = Parsed(std::string(kQuantisations) +
                             "input x float32[1,4,6,6]\nconst w int8[8,4,3,3] whole 1\nconst b int32[8] random 2\n"
                             "const ws float32[8] floats 0.01 0.02 0.03 0.01 0.004 0.01 0.02 0.01\n"
                             "const wz int8[8] zeros\nq = QuantizeLinear(x, sa, za)\n"
                             "y = QLinearConv(q, sa, za, w, ws, wz, sb, zb, b) pads=[1,1,1,1]\noutput y\n");
  const auto simple = Simplify(graph, Context());
  REQUIRE(simple.ok());
  CHECK(Operators(*simple) == Ops{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv", "QuantizeLinear"});
  const std::vector<int64_t> before = RunOnReference(graph)[0].ToInts(), after = RunOnReference(*simple)[0].ToInts();
  REQUIRE(before.size() == after.size());
  for (size_t i = 0; i < before.size(); ++i) CHECK(std::abs(before[i] - after[i]) <= 1);
  // Parameters that are known only in the run leave it as it is.
  CHECK(QuantisedAfter("input x float32[5,7]\ninput s float32[]\nconst w int8[7,9] whole 1\n"
                       "q = QuantizeLinear(x, sa, za)\ny = QLinearMatMul(q, s, za, w, sw, zw, sb, zb)\noutput y\n") ==
        Ops{"QuantizeLinear", "QLinearMatMul"});
}

}  // namespace
}  // namespace pt::testing::integer_passes_test
