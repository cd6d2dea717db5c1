// Pads before convolutions and poolings, and what is cut off behind convolutions.
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "test/transform/passes_lab.h"

namespace pt::testing::fold_borders_test {
namespace {

std::string List(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(values[i]);
  return text + "]";
}

std::string Int64s(const std::string& name, const std::vector<int64_t>& values) {
  std::string text = "const " + name + " int64[" + std::to_string(values.size()) + "] ints";
  for (const int64_t value : values) text += " " + std::to_string(value);
  return text + "\n";
}

const std::string kImage = "input x float32[1,4,9]\nconst w float32[6,4,3] random 1\nconst b float32[6] random 2\n";

}  // namespace

TEST_CASE("FoldBorders, ACausalConvolutionIsOneConv", "[transform]") {
  // As PyTorch's users write it: padded on both sides and cut at the end, or padded at the beginning.
  CHECK(OperatorsAfter(kImage + Int64s("from", {0}) + Int64s("to", {-4}) + Int64s("axis", {2}) +
                       "c = Conv(x, w, b) pads=[4,4] dilations=[2]\ns = Slice(c, from, to, axis)\ny = Relu(s)\noutput "
                       "y\n") == Ops{"Conv", "Relu"});
  CHECK(OperatorsAfter(kImage + Int64s("pads", {0, 0, 4, 0, 0, 0}) +
                       "p = Pad(x, pads)\ny = Conv(p, w, b) dilations=[2]\noutput y\n") == Ops{"Conv"});
  CHECK(OperatorsAfter(kImage + Int64s("pads", {0, 0, 0, 0, 0, -2}) +
                       "c = Conv(x, w, b) pads=[2,2]\nr = Relu(c)\ng = Sigmoid(r)\ny = Pad(g, pads)\noutput y\n") ==
        Ops{"Conv", "Relu", "Sigmoid"});
  // A causal decoder.
  CHECK(OperatorsAfter("input x float32[1,4,9]\nconst w float32[4,6,8] random 1\n" + Int64s("from", {0}) +
                       Int64s("to", {-4}) + Int64s("axis", {-1}) +
                       "c = ConvTranspose(x, w) strides=[4]\ny = Slice(c, from, to, axis)\noutput y\n") ==
        Ops{"ConvTranspose"});
}

TEST_CASE("FoldBorders, APadOfIntegersByTheirZeroPointIsPadding", "[transform]") {
  const std::string in =
      "input f float32[1,4,9]\nconst w int8[4,1,3] whole 1\nconst s float32[] value 0.05\n"
      "const z uint8[] value 100\nconst none uint8[] value 0\nconst zw int8[] value 0\n" +
      Int64s("pads", {0, 0, 1, 0, 0, 2}) + "x = QuantizeLinear(f, s, z)\n";
  const std::string conv = "v = DequantizeLinear(w, s, zw)\ny = Conv(d, v) group=4 strides=[2]\noutput y\n";
  const Ops folded{"QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"};
  CHECK(OperatorsAfter(in + "p = Pad(x, pads, z)\nd = DequantizeLinear(p, s, z)\n" + conv) == folded);
  CHECK(OperatorsAfter(in + "p = Pad(x, pads)\nd = DequantizeLinear(p, s, none)\n" + conv) == folded);
  // As TensorFlow Lite's converters write it.
  CHECK(OperatorsAfter(in +
                       "r = DequantizeLinear(x, s, z)\nm = Pad(r, pads)\np = QuantizeLinear(m, s, z)\nd = "
                       "DequantizeLinear(p, s, z)\n" +
                       conv) == folded);
  // Read twice, the integers are dequantised twice.
  CHECK(
      OperatorsAfter(in + "p = Pad(x, pads, z)\nd = DequantizeLinear(p, s, z)\n" + conv + "r = Relu(d)\noutput r\n") ==
      Ops{"QuantizeLinear", "Pad", "DequantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv", "Relu"});
  const Ops stays{"QuantizeLinear", "Pad", "DequantizeLinear", "DequantizeLinear", "Conv"};
  CHECK(OperatorsAfter(in + "p = Pad(x, pads)\nd = DequantizeLinear(p, s, z)\n" + conv) == stays);
  CHECK(OperatorsAfter(in + "p = Pad(x, pads, none)\nd = DequantizeLinear(p, s, z)\n" + conv) == stays);
}

TEST_CASE("FoldBorders, APadBeforeAPoolingIsItsPadding", "[transform]") {
  const std::string image = "input x float32[1,2,7,8]\n" + Int64s("pads", {0, 0, 1, 0, 0, 0, 1, 1});
  CHECK(OperatorsAfter(image + "p = Pad(x, pads)\ny = AveragePool(p) kernel_shape=[2,2]\noutput y\n") ==
        Ops{"AveragePool"});
  CHECK(OperatorsAfter(image + "p = Pad(x, pads)\ny = AveragePool(p) kernel_shape=[3,3] pads=[1,1,1,1] "
                               "count_include_pad=1\noutput y\n") == Ops{"AveragePool"});
  CHECK(OperatorsAfter(image + "r = Relu(x)\np = Pad(r, pads)\ny = MaxPool(p) kernel_shape=[3,3] strides=[2,2]\noutput "
                               "y\n") == Ops{"Relu", "MaxPool"});
  CHECK(OperatorsAfter(image + "const least float32[] value -inf\np = Pad(x, pads, least)\ny = MaxPool(p) "
                               "kernel_shape=[2,2]\noutput y\n") == Ops{"MaxPool"});
}

TEST_CASE("FoldBorders, WhatPaddingDoesNotMeanStays", "[transform]") {
  const std::string pads = Int64s("pads", {0, 0, 1, 0, 0, 1}), average = "input x float32[1,4,9]\n" + pads;
  const std::string convolved = "c = Conv(x, w, b) pads=[2,2]\n";
  for (const std::string& text : {
           kImage + pads + "const one float32[] value 1\np = Pad(x, pads, one)\ny = Conv(p, w, b)\noutput y\n",
           kImage + pads + "p = Pad(x, pads) mode=\"edge\"\ny = Conv(p, w, b)\noutput y\n",
           kImage + Int64s("much", {0, 0, 3, 0, 0, 0}) + "p = Pad(x, much)\ny = Conv(p, w, b)\noutput y\n",
           kImage + Int64s("less", {0, 0, 1, 0, 0, -1}) + "p = Pad(x, less)\ny = Conv(p, w, b)\noutput y\n",
           kImage + Int64s("batch", {1, 0, 1, 0, 0, 0}) + "p = Pad(x, batch)\ny = Conv(p, w, b)\noutput y\n",
           average + "p = Pad(x, pads)\ny = AveragePool(p) kernel_shape=[3] pads=[1,1]\noutput y\n",
           average + "p = Pad(x, pads)\ny = AveragePool(p) kernel_shape=[2] strides=[3] ceil_mode=1\noutput y\n",
           average + "p = Pad(x, pads)\ny = MaxPool(p) kernel_shape=[3]\noutput y\n",
           average + "r = Relu(x)\np = Pad(r, pads)\ny, i = MaxPool(p) kernel_shape=[3]\noutput y\noutput i\n",
       }) {
    INFO(text);
    const Ops ops = OperatorsAfter(text);
    CHECK(std::ranges::count(ops, "Pad") == 1);
  }
  const std::string axis = Int64s("axis", {2}), channel = Int64s("axis", {1});
  for (const std::string& text : {
           // More than the padding, each second, other axes, and what others read too.
           kImage + convolved + Int64s("from", {3}) + Int64s("to", {99}) + axis +
               "y = Slice(c, from, to, axis)\noutput y\n",
           kImage + convolved + Int64s("from", {0}) + Int64s("to", {8}) + axis +
               "y = Slice(c, from, to, axis)\noutput y\n",
           kImage + convolved + Int64s("from", {0}) + Int64s("to", {-1}) + axis + Int64s("by", {2}) +
               "y = Slice(c, from, to, axis, by)\noutput y\n",
           kImage + convolved + Int64s("from", {0}) + Int64s("to", {-1}) + channel +
               "y = Slice(c, from, to, axis)\noutput y\n",
           kImage + convolved + Int64s("from", {0}) + Int64s("to", {-1}) + axis +
               "y = Slice(c, from, to, axis)\noutput y\noutput c\n",
           kImage + convolved + Int64s("from", {0}) + Int64s("to", {-1}) + axis +
               "r = Relu(c)\ny = Slice(r, from, to, axis)\nz = Sigmoid(r)\noutput y\noutput z\n",
           "input x float32[1,4,9]\nconst w float32[4,6,8] random 1\n" + Int64s("from", {8}) + Int64s("to", {99}) +
               axis + "c = ConvTranspose(x, w) strides=[4]\ny = Slice(c, from, to, axis)\noutput y\n",
       }) {
    INFO(text);
    const Ops ops = OperatorsAfter(text);
    CHECK(std::ranges::count(ops, "Slice") == 1);
  }
}

namespace {

// A Pad, a convolution of either kind, Relu and a Slice.
std::string DrawnText(std::mt19937& random) {
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const auto dims = static_cast<size_t>(draw(1, 2));
  const bool transposed = draw(0, 2) == 0;
  std::vector<int64_t> image = {draw(1, 2), 2}, weights = {transposed ? 2 : 3, transposed ? 3 : 2}, strides, dilations,
                       pads(2 * dims), around(2 * (dims + 2), 0), starts, ends, axes;
  for (size_t d = 0; d < dims; ++d) {
    image.push_back(draw(5, 12));
    weights.push_back(draw(1, 4));
    strides.push_back(draw(1, 3));
    dilations.push_back(draw(1, 2));
    around[d + 2] = draw(0, 2);
    around[d + 4 + dims] = draw(0, 2);
    starts.push_back(draw(-3, 3));
    ends.push_back(draw(0, 2) == 0 ? draw(3, 9) : draw(-3, -1));
    axes.push_back(static_cast<int64_t>(d) + 2);
  }
  for (int64_t& pad : pads) pad = draw(0, 3);
  return "input x float32" + List(image) + "\nconst w float32" + List(weights) + " random 1\n" +
         Int64s("around", around) + Int64s("starts", starts) + Int64s("ends", ends) + Int64s("axes", axes) +
         "p = Pad(x, around)\nc = " + (transposed ? "ConvTranspose" : "Conv") + "(p, w) pads=" + List(pads) +
         " strides=" + List(strides) + " dilations=" + List(dilations) +
         "\nr = Relu(c)\ny = Slice(r, starts, ends, axes)\noutput y\n";
}

}  // namespace

// What is drawn need not be foldable, and computes the same in any case.
TEST_CASE("FoldBorders, DrawnOnesComputeTheSame", "[transform]") {
  int pads_folded = 0, cuts_folded = 0;
  for (uint32_t seed = 1; seed <= 600; ++seed) {
    std::mt19937 random(seed);
    const std::string text = DrawnText(random);
    CAPTURE(seed, text);
    auto graph = ParseGraph(text);
    REQUIRE(graph.ok());
    auto inferred = InferShapes(*graph);
    if (!inferred.ok()) continue;  // windows larger than the image
    const auto made = inferred->value(inferred->outputs()[0]).type.static_dims();
    if (!made || std::ranges::any_of(*made, [](int64_t d) { return d < 1; })) continue;
    const Ops before = Operators(*inferred), after = Operators(Simplified(*inferred));
    pads_folded += std::ranges::count(after, "Pad") < std::ranges::count(before, "Pad") ? 1 : 0;
    cuts_folded += std::ranges::count(after, "Slice") < std::ranges::count(before, "Slice") ? 1 : 0;
  }
  CHECK(pads_folded >= 50);
  CHECK(cuts_folded >= 30);
  WARN(pads_folded << " pads and " << cuts_folded << " cuts were folded");
}

}  // namespace pt::testing::fold_borders_test
