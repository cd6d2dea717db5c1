// Operators on quantised tensors as ONNX Runtime has them. Expected numbers are its own, of version 1.32 without
// optimisation, with the same inputs.
#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_quantized_test {
namespace {

using Ints = std::vector<int64_t>;

Tensor Scale(float value) { return Floats({}, {value}); }
Tensor Zero(uint8_t value) { return Uint8({}, {value}); }
Tensor SignedZero(int8_t value) { return Int8({}, {value}); }

const Tensor kA = Uint8({2, 3}, {0, 100, 128, 255, 7, 50}), kB = Uint8({3}, {10, 128, 250}),
             kSigned = Int8({2, 3}, {-128, -100, 0, 5, 127, 60});

TEST_CASE("Contrib, SumsAndProductsOfQuantisedTensorsSaturate", "[onnx]") {
  const auto run = [](const std::string& op, float scale) {
    return Results({op, {kA, Scale(0.1F), Zero(128), kB, Scale(0.2F), Zero(100), Scale(scale), Zero(120)}})[0].ToInts();
  };
  CHECK(run("QLinearAdd", 0.25F) == Ints{0, 131, 240, 99, 94, 209});
  CHECK(run("QLinearMul", 1.5F) == Ints{255, 110, 120, 0, 75, 0});
  const Tensor sum = Results(
      {"QLinearAdd",
       {kSigned, Scale(0.1F), SignedZero(5), kSigned, Scale(0.05F), SignedZero(-3), Scale(0.12F), SignedZero(-20)}})[0];
  CHECK(sum.type() == DataType::kInt8);
  CHECK(sum.ToInts() == Ints{-128, -128, -23, -17, 127, 52});
}

// By its definition; ONNX Runtime 1.32 fails without zero points.
TEST_CASE("Contrib, AbsentZeroPointsAreZeroOfTheInputsType", "[onnx]") {
  const Tensor sum = Results({"QLinearAdd", {kSigned, Scale(1), {}, Int8({}, {-10}), Scale(1), {}, Scale(2)}})[0];
  CHECK(sum.type() == DataType::kInt8);
  CHECK(sum.ToInts() == Ints{-69, -55, -5, -2, 58, 25});
}

TEST_CASE("Contrib, ActivationsOfQuantisedTensors", "[onnx]") {
  CHECK(Results({"QLinearSigmoid", {kA, Scale(0.05F), Zero(128), Scale(1.0F / 256), Zero(0)}})[0].ToInts() ==
        Ints{0, 51, 128, 255, 1, 5});
  CHECK(Results({"QLinearLeakyRelu",
                 {kSigned, Scale(0.1F), SignedZero(5), Scale(0.08F), SignedZero(3)},
                 {FloatAttribute("alpha", 0.2F)}})[0]
            .ToInts() == Ints{-30, -23, 2, 3, 127, 72});
  CHECK(
      Results(
          {"QLinearSoftmax", {kA, Scale(0.05F), Zero(128), Scale(1.0F / 256), Zero(0)}, {IntAttribute("opset", 13)}})[0]
          .ToInts() == Ints{0, 51, 205, 255, 0, 0});
}

// Of opset 12, over both dims behind the first; the same as over one of six.
TEST_CASE("Contrib, QuantisedSoftmaxOfEarlyOpsetsGoesOverAllDimsBehindTheAxis", "[onnx]") {
  const auto run = [](Tensor x, int64_t opset) {
    return Results({"QLinearSoftmax",
                    {std::move(x), Scale(0.02F), Zero(128), Scale(1.0F / 256), Zero(0)},
                    {IntAttribute("opset", opset), IntAttribute("axis", 1)}})[0];
  };
  const std::vector<uint8_t> bytes = {0, 100, 128, 255, 7, 50};
  const Tensor early = run(Uint8({1, 2, 3}, bytes), 12);
  CHECK(early.dims() == Ints{1, 2, 3});
  CHECK(early.ToInts() == run(Uint8({1, 6}, bytes), 13).ToInts());
  CHECK(early.ToInts() != run(Uint8({1, 2, 3}, bytes), 13).ToInts());
}

TEST_CASE("Contrib, PoolsOfQuantisedImagesInBothOrders", "[onnx]") {
  const Tensor rows = Uint8({2, 2, 2}, {0, 20, 40, 60, 80, 100, 120, 140});
  const std::vector<GivenInput> global = {rows, Scale(0.1F), Zero(3), Scale(0.07F), Zero(9)};
  const Tensor first = Results({"QLinearGlobalAveragePool", global})[0];
  CHECK(first.dims() == Ints{2, 2, 1});
  CHECK(first.ToInts() == Ints{19, 76, 133, 190});
  const Tensor last = Results({"QLinearGlobalAveragePool", global, {IntAttribute("channels_last", 1)}})[0];
  CHECK(last.dims() == Ints{2, 1, 2});
  CHECK(last.ToInts() == Ints{33, 62, 148, 176});

  std::vector<uint8_t> pixels;
  for (int i = 0; i < 16; ++i) pixels.push_back(static_cast<uint8_t>(i * 37 % 256));
  const std::vector<GivenInput> quantisation = {Scale(0.1F), Zero(30), Scale(0.12F), Zero(9)};
  const auto pool = [&](std::vector<int64_t> dims, const std::vector<Wire>& attributes) {
    std::vector<GivenInput> inputs = {Uint8(std::move(dims), pixels)};
    inputs.insert(inputs.end(), quantisation.begin(), quantisation.end());
    return Results({"QLinearAveragePool", inputs, attributes})[0];
  };
  const Tensor padded = pool({1, 1, 4, 4}, {IntsAttribute("kernel_shape", {2, 2}), IntsAttribute("strides", {2, 2}),
                                            IntsAttribute("pads", {1, 1, 1, 1}), IntAttribute("count_include_pad", 1)});
  CHECK(padded.dims() == Ints{1, 1, 3, 3});
  CHECK(padded.ToInts() == Ints{3, 20, 26, 36, 109, 29, 42, 45, 12});
  const Tensor channels_last =
      pool({1, 4, 2, 2}, {IntsAttribute("kernel_shape", {2, 2}), IntAttribute("channels_last", 1)});
  CHECK(channels_last.dims() == Ints{1, 3, 1, 2});
  CHECK(channels_last.ToInts() == Ints{77, 54, 93, 71, 57, 87});
}

TEST_CASE("Contrib, PartsAreQuantisedAnew", "[onnx]") {
  const Tensor joined = Results({"QLinearConcat",
                                 {Scale(0.1F), Zero(10), Uint8({1, 3}, {0, 100, 200}), Scale(0.2F), Zero(50),
                                  Uint8({2, 3}, {9, 10, 11, 255, 254, 253}), Scale(0.1F), Zero(10)},
                                 {IntAttribute("axis", 0)}})[0];
  CHECK(joined.dims() == Ints{3, 3});
  CHECK(joined.ToInts() == Ints{0, 110, 255, 9, 10, 11, 255, 254, 253});
  const Tensor condition = Tensor::Of<uint8_t>(DataType::kBool, {3}, std::vector<uint8_t>{1, 0, 1});
  CHECK(Results({"QLinearWhere",
                 {condition, Uint8({3}, {0, 100, 200}), Scale(0.2F), Zero(50), Uint8({3}, {9, 10, 255}), Scale(0.1F),
                  Zero(10), Scale(0.15F), Zero(20)}})[0]
            .ToInts() == Ints{0, 20, 220});
}

const Tensor kReal = Floats({2, 3}, {-1, 0.5F, 2, 0.25F, -0.75F, 1.5F}), kMatrix = Int8({3, 2}, {1, -2, 3, 4, -5, 6}),
             kBytes = Uint8({2, 3}, {0, 10, 20, 30, 40, 50});

TEST_CASE("Contrib, DynamicQuantizeMatMulQuantisesItsInput", "[onnx]") {
  CheckNear(Results({"DynamicQuantizeMatMul",
                     {kReal, kMatrix, Floats({2}, {0.1F, 0.2F}), Int8({2}, {1, -1}), Floats({2}, {0.5F, -0.5F})}})[0],
            {2, 2}, {-0.6011765F, 2.9941177F, -0.55411768F, 0.80588245F});
  CheckNear(Results({"DynamicQuantizeMatMul", {kReal, Constant(kMatrix), Scale(0.1F)}})[0], {2, 2},
            {-0.95176476F, 1.5976472F, -0.95411772F, 0.5529412F});
}

TEST_CASE("Contrib, MatMulIntegerToFloatScalesByColumn", "[onnx]") {
  CheckNear(Results({"MatMulIntegerToFloat",
                     {kBytes, kMatrix, Floats({1}, {0.5F}), Floats({2}, {0.1F, 0.2F}), Zero(12), Int8({1}, {2}),
                      Floats({2}, {1, -1})}})[0],
            {2, 2}, {-1.3F, 6.6F, -11.8F, 12.6F});
}

TEST_CASE("Contrib, QuantisedGemmAddsItsIntegers", "[onnx]") {
  const Tensor turned = Int8({2, 3}, {1, 3, -5, -2, 4, 6}), c = Int32({2}, {5, -7});
  const std::vector<GivenInput> a = {kBytes, Scale(0.5F), Zero(12)};
  CHECK(Results({"QGemm",
                 {a[0], a[1], a[2], turned, Floats({2}, {0.1F, 0.2F}), Int8({2}, {0, 0}), c, Scale(0.4F), Zero(100)},
                 {IntAttribute("transB", 1), FloatAttribute("alpha", 0.5F)}})[0]
            .ToInts() == Ints{97, 107, 95, 137});
  CheckNear(Results({"QGemm", {a[0], a[1], a[2], kMatrix, Scale(0.1F), SignedZero(3), c}})[0], {2, 2},
            {-1.75F, 3.75F, -16.75F, 2.25F});
}

TEST_CASE("Contrib, WhatIsNoQuantisedTensorIsRefused", "[onnx]") {
  CHECK(Mentions(FaultOf({"QLinearSigmoid", {kReal, Scale(1), Zero(0), Scale(1), Zero(0)}}),
                 "is of element type FLOAT; int8 and uint8 are supported"));
  CHECK(Mentions(FaultOf({"QLinearSigmoid", {kA, Floats({2}, {1, 2}), Zero(0), Scale(1), Zero(0)}}),
                 "scale \"x1\" is not one number"));
  CHECK(Mentions(FaultOf({"QLinearSigmoid", {kA, {}, Zero(0), Scale(1), Zero(0)}}), "its input X_scale is missing"));
  CHECK(Mentions(FaultOf({"QLinearSoftmax", {kA, Scale(1), Zero(0), Scale(1), Zero(0)}}),
                 "its attribute opset is missing"));
  CHECK(Mentions(FaultOf({"QLinearConcat", {Scale(1), Zero(0), kA, Scale(1)}, {IntAttribute("axis", 0)}}),
                 "it has 4 inputs: two and three for each tensor are needed"));
  CHECK(Mentions(FaultOf({"QLinearAveragePool", {kA, Scale(1), Zero(0), Scale(1), Zero(0)}}),
                 "its attribute kernel_shape is missing"));
  CHECK(Mentions(
      FaultOf(
          {"QLinearGlobalAveragePool", {kA, Scale(1), Zero(0), Scale(1), Zero(0)}, {IntAttribute("channels_last", 1)}}),
      "its input has 2 dims; 3 are needed"));
  CHECK(Mentions(FaultOf({"DynamicQuantizeMatMul", {kReal, kMatrix, Floats({3}, {1, 2, 3})}}),
                 "its b_scale has 3 elements for 2 columns"));
  CHECK(Mentions(FaultOf({"MatMulIntegerToFloat", {kBytes, kMatrix, Floats({3}, {1, 2, 3}), Scale(1)}}),
                 "a_scale \"x2\" is not one number"));
  CHECK(Mentions(FaultOf({"QGemm", {kBytes, Scale(1), Zero(0), kMatrix, Scale(1), SignedZero(0), {}, {}, Zero(0)}}),
                 "it has a y_zero_point and no y_scale"));
}

// ---- DynamicQuantizeLSTM ----

// What goes into products is rounded to 8 bits: the number is ONNX Runtime's.
TEST_CASE("Contrib, DynamicQuantizeLstmRoundsAsOnnxRuntimeDoes", "[onnx]") {
  const Tensor weights = Int8({1, 1, 4}, {100, -50, 25, 127}), scale = Floats({1}, {0.01F}), zero = Int8({1}, {0});
  const Single single = {"DynamicQuantizeLSTM",
                         {Floats({2, 1, 1}, {0.7F, -0.3F}),
                          Constant(weights),
                          Constant(weights),
                          {},
                          {},
                          {},
                          {},
                          {},
                          Constant(scale),
                          Constant(zero),
                          Constant(scale),
                          Constant(zero)},
                         {IntAttribute("hidden_size", 1)},
                         {"", "h"}};
  const Result<Graph> graph = Load(BytesOf(single));
  REQUIRE(graph.ok());
  CheckNear(RunOnReference(*graph, std::vector<Tensor>{Floats({2, 1, 1}, {0.7F, -0.3F})})[0], {1, 1, 1}, {0.084070F});
  Single wrong = single;
  wrong.inputs[8] = Constant(Floats({1, 1, 1}, {0.01F}));
  CHECK(Mentions(FaultOf(wrong), "input 8 has 3 dims; it needs one or two"));
  wrong.inputs[8] = {};
  CHECK(Mentions(FaultOf(wrong), "its input W_scale is missing"));
}

}  // namespace
}  // namespace pt::testing::contrib_quantized_test
