// Products and convolutions with what ONNX Runtime fuses into them. Expected numbers are its own, of version 1.32
// without optimisation, with the same inputs.
#include <cmath>
#include <utility>

#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_products_test {
namespace {

Tensor Ramp(std::vector<int64_t> dims, float start, float step, int period) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(start + step * static_cast<float>(i % period));
  return Floats(std::move(dims), values);
}

const Tensor kA = Ramp({2, 3, 2}, -2, 0.5F, 100), kB = Ramp({2, 2, 3}, -1, 1, 5), kColumns = Ramp({3, 2, 2}, -1, 1, 5);

TEST_CASE("Contrib, FusedMatMulTransposesMatricesAndBatches", "[onnx]") {
  CheckNear(Results({"FusedMatMul", {kA, kB}, {FloatAttribute("alpha", 0.5F)}})[0], {2, 3, 3},
            {-0.5F, -2.25F, -0.25F, 0, -0.75F, -0.25F, 0.5F, 0.75F, -0.25F, 2.25F, -0.25F, 1, 3.75F, -0.25F, 2, 5.25F,
             -0.25F, 3});
  for (const char* op : {"FusedMatMul", "TransposeMatMul"}) {
    CheckNear(Results({op, {kA, kA}, {IntAttribute("transA", 1)}})[0], {2, 2, 2},
              {5, 3.5F, 3.5F, 2.75F, 14, 17, 17, 20.75F});
    CheckNear(Results({op, {kA, kA}, {IntAttribute("transB", 1), FloatAttribute("alpha", 2)}})[0], {2, 3, 3},
              {12.5F, 5.5F, -1.5F, 5.5F, 2.5F, -0.5F, -1.5F, -0.5F, 0.5F, 6.5F, 11.5F, 16.5F, 11.5F, 20.5F, 29.5F,
               16.5F, 29.5F, 42.5F});
  }
  CheckNear(Results({"FusedMatMul", {kA, kColumns}, {IntAttribute("transBatchA", 1)}})[0], {3, 2, 2},
            {0.5F, -3, 0.5F, 3, -3, 0.5F, 6, 0.5F, -0.5F, 0, 2.5F, 9});
  CheckNear(Results({"FusedMatMul", {kA, kColumns}, {IntAttribute("transBatchA", 1), IntAttribute("transA", 1)}})[0],
            {3, 2, 2}, {3, 2, 3, 3, -3, 3, -1.5F, 3, -3, 0, -2.5F, 1.5F});
}

TEST_CASE("Contrib, FusedConvAddsAndActivates", "[onnx]") {
  const Tensor x = Ramp({1, 1, 4, 4}, -3, 1, 7), w = Floats({1, 1, 2, 2}, {1, 0, -1, 2}), bias = Floats({1}, {0.5F}),
               z = Ramp({1, 1, 3, 3}, 0, 1, 100);
  const auto run = [&](const std::string& activation, const std::vector<float>& parameters) {
    std::vector<Wire> attributes = {IntsAttribute("kernel_shape", {2, 2}), StringAttribute("activation", activation)};
    if (!parameters.empty()) attributes.push_back(FloatsAttribute("activation_params", parameters));
    return Results({"FusedConv", {x, Constant(w), Constant(bias), z}, attributes})[0];
  };
  CheckNear(run("Relu", {}), {1, 1, 3, 3}, {0.5F, 3.5F, 0, 4.5F, 7.5F, 10.5F, 8.5F, 0, 7.5F});
  CheckNear(run("LeakyRelu", {0.5F}), {1, 1, 3, 3}, {0.5F, 3.5F, -3.75F, 4.5F, 7.5F, 10.5F, 8.5F, -1.25F, 7.5F});
  CheckNear(run("Clip", {-1, 2}), {1, 1, 3, 3}, {0.5F, 2, -1, 2, 2, 2, 2, -1, 2});
  CheckNear(run("HardSigmoid", {0.25F, 0.5F}), {1, 1, 3, 3}, {0.625F, 1, 0, 1, 1, 1, 1, 0, 1});
  CheckNear(run("Tanh", {}), {1, 1, 3, 3},
            {0.46211717F, 0.99817795F, -0.9999994F, 0.99975318F, 0.9999994F, 1, 0.99999988F, -0.98661435F, 0.9999994F});
  CheckNear(Results({"FusedConv", {x, w, {}, z}, {IntsAttribute("kernel_shape", {2, 2})}})[0], {1, 1, 3, 3},
            {0, 3, -8, 4, 7, 10, 8, -3, 7});

  const auto fault = [&](const std::vector<Wire>& attributes) { return FaultOf({"FusedConv", {x, w}, attributes}); };
  CHECK(Mentions(fault({StringAttribute("activation", "Selu")}), "activation \"Selu\" is not supported"));
  CHECK(Mentions(fault({StringAttribute("auto_pad", "NONE")}), "unknown auto_pad \"NONE\" of Conv"));
  CHECK(Mentions(fault({StringAttribute("activation", "Clip"), FloatsAttribute("activation_params", {1})}),
                 "activation Clip needs 2 parameters, not 1"));
}

TEST_CASE("Contrib, FusedGemmActivates", "[onnx]") {
  const Tensor a = Floats({2, 2}, {1, 2, -3, 4}), b = Floats({2, 2}, {1, -1, 2, 0.5F}), c = Floats({2}, {0.5F, -0.5F});
  CheckNear(Results({"FusedGemm",
                     {a, b, c},
                     {StringAttribute("activation", "LeakyRelu"), FloatAttribute("activation_alpha", 0.1F),
                      FloatAttribute("alpha", 0.5F), FloatAttribute("beta", 2), IntAttribute("transB", 1)}})[0],
            {2, 2}, {0.5F, 0.5F, -0.25F, -0.3F});
  CHECK(Mentions(FaultOf({"FusedGemm", {a, b}, {StringAttribute("activation", "Gelu")}}), "is not supported: Elu"));
}

// Exporters write both parameters beside every activation: one that has fewer is computed as if they were not there.
TEST_CASE("Contrib, FusedGemmGivesActivationsOnlyTheParametersThatTheyHave", "[onnx]") {
  const auto run = [](const std::string& activation) {
    return Results({"FusedGemm",
                    {Floats({1, 2}, {-1, 1}), Floats({2, 3}, {2, 0, -1, 0.5F, 0.25F, 1})},
                    {StringAttribute("activation", activation), FloatAttribute("activation_alpha", 0.5F),
                     FloatAttribute("activation_beta", 0.25F)}})[0];
  };
  // Of -1.5, 0.25 and 2.
  const auto check = [&](const std::string& activation, const std::vector<float>& expected) {
    CAPTURE(activation);
    CheckNear(run(activation), {1, 3}, expected);
  };
  const auto each = [](auto f) { return std::vector<float>{f(-1.5F), f(0.25F), f(2.0F)}; };
  check("Elu", {0.5F * std::expm1(-1.5F), 0.25F, 2});
  check("HardSigmoid", {0, 0.375F, 1});
  check("LeakyRelu", {-0.75F, 0.25F, 2});
  check("Relu", {0, 0.25F, 2});
  check("Sigmoid", each([](float x) { return 1 / (1 + std::exp(-x)); }));
  check("Softplus", each([](float x) { return std::log1p(std::exp(x)); }));
  check("Softsign", each([](float x) { return x / (1 + std::abs(x)); }));
  check("Tanh", each([](float x) { return std::tanh(x); }));
  check("ThresholdedRelu", {0, 0, 2});
}

TEST_CASE("Contrib, ActivationsOfFusedConvNeedTheParametersThatTheyHave", "[onnx]") {
  const Tensor x = Floats({1, 1, 2, 2}, {1, 2, 3, 4}), w = Floats({1, 1, 1, 1}, {1});
  const std::vector<std::pair<std::string, size_t>> rows = {{"Relu", 0},      {"Tanh", 0}, {"Sigmoid", 0},
                                                            {"LeakyRelu", 1}, {"Clip", 2}, {"HardSigmoid", 2}};
  for (const auto& [activation, parameters] : rows) {
    for (size_t given = 0; given <= 3; ++given) {
      CAPTURE(activation, given);
      const std::string fault = FaultOf({"FusedConv",
                                         {x, Constant(w)},
                                         {StringAttribute("activation", activation),
                                          FloatsAttribute("activation_params", std::vector<float>(given, 0.5F))}});
      CHECK((fault == "") == (given == parameters));
    }
  }
}

TEST_CASE("Contrib, FusedMatMulNeedsToKnowHowManyDimsItTurns", "[onnx]") {
  const GivenInput unranked(kA, false, false);
  CHECK(FaultOf({"FusedMatMul", {unranked, kB}}) == "");
  CHECK(Mentions(FaultOf({"FusedMatMul", {unranked, kA}, {IntAttribute("transA", 1)}}),
                 "the number of dims of A (\"x0\") is not known"));
  const Tensor matrix = Floats({2, 2}, {1, 2, 3, 4});
  CHECK(Mentions(FaultOf({"FusedMatMul", {matrix, matrix}, {IntAttribute("transBatchB", 1)}}), "have 2 and 2"));
}

// ---- MatMulNBits: A [2, 20], N = 2, two blocks of 16 of which the second is padded ----

const Tensor kInput = [] {
  std::vector<float> values;
  for (int i = 0; i < 40; ++i) values.push_back(static_cast<float>(i * 7 % 9) * 0.25F - 1);
  return Floats({2, 20}, values);
}();
const Tensor kScales = Floats({2, 2}, {0.1F, 0.2F, 0.05F, 0.4F});

Tensor Packed(int64_t bits) {
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < 2 * 2 * 16 * bits / 8; ++i) bytes.push_back(static_cast<uint8_t>(i * 37 % 256));
  return Uint8({2, 2, 16 * bits / 8}, bytes);
}

Single NBits(int64_t bits, std::vector<GivenInput> optional = {}) {
  Single single = {"MatMulNBits",
                   {kInput, Constant(Packed(bits)), Constant(kScales)},
                   {IntAttribute("K", 20), IntAttribute("N", 2), IntAttribute("bits", bits),
                    IntAttribute("block_size", 16), IntAttribute("accuracy_level", 0)}};
  for (GivenInput& operand : optional) single.inputs.push_back(std::move(operand));
  return single;
}

TEST_CASE("Contrib, MatMulNBitsUnpacksFourBits", "[onnx]") {
  CheckNear(Results(NBits(4))[0], {2, 2}, {-2.0999999F, -1.5250001F, -0.15F, 0.2625F});
  const GivenInput zero_points = Constant(Uint8({2, 1}, {0x3A, 0x71}));
  CheckNear(Results(NBits(4, {zero_points, {}, Floats({2}, {1, -1})}))[0], {2, 2},
            {-1.9499998F, -2.6500001F, 0.55F, -0.74999994F});
  CheckNear(Results(NBits(4, {Floats({2, 2}, {1.5F, 2, 7.25F, 8})}))[0], {2, 2},
            {-2.6750002F, -1.50625F, -0.2875F, 0.271875F});
}

TEST_CASE("Contrib, MatMulNBitsTakesScalesByGroupIndex", "[onnx]") {
  std::vector<int32_t> groups;
  for (int32_t i = 0; i < 20; ++i) groups.push_back(i % 2);
  CheckNear(Results(NBits(4, {{}, Constant(Int32({20}, groups))}))[0], {2, 2}, {-3.25F, -1.8749996F, -0.025F, 0.7875F});
  CHECK(Mentions(FaultOf(NBits(8, {{}, Constant(Int32({20}, groups))})), "g_idx is supported with 4 bits"));
  CHECK(Mentions(FaultOf(NBits(4, {Constant(Uint8({2, 1}, {0, 0})), Constant(Int32({20}, groups))})),
                 "without packed zero_points"));
}

TEST_CASE("Contrib, MatMulNBitsUnpacksEightAndTwoBits", "[onnx]") {
  CheckNear(Results(NBits(8))[0], {2, 2}, {3.1000028F, 35.974998F, 22.174999F, -89.762497F});
  CheckNear(Results(NBits(8, {Constant(Uint8({2, 2}, {100, 30, 200, 0}))}))[0], {2, 2},
            {-10.200006F, -4.2250023F, 17.974998F, -103.46249F});
  CheckNear(Results(NBits(2))[0], {2, 2}, {0, -0.3375F, 0.625F, 1.175F});
  CheckNear(Results(NBits(2, {Constant(Uint8({2, 1}, {0b1101, 0b0110}))}))[0], {2, 2}, {0.2F, -0.6375F, 0.7F, 1.075F});
}

// Which of the matrix, the scales and the zero points are constants changes nothing: what is computed is unpacked in
// the run.
TEST_CASE("Contrib, MatMulNBitsTakesComputedMatrices", "[onnx]") {
  std::vector<int32_t> groups;
  for (int32_t i = 0; i < 20; ++i) groups.push_back(i % 2);
  const GivenInput by_index = Int32({20}, groups), real = Floats({2, 2}, {1.5F, 2, 7.25F, 8});
  for (const int64_t bits : {2, 4, 8}) {
    const GivenInput packed = bits == 8 ? Uint8({2, 2}, {100, 30, 200, 0}) : Uint8({2, 1}, {0x3A, 0x71});
    std::vector<std::vector<GivenInput>> kinds = {{}, {packed}};
    if (bits < 8) kinds.push_back({real});
    if (bits == 4) kinds.insert(kinds.end(), {{{}, by_index}, {real, by_index}});
    for (const auto& optional : kinds) {
      Single single = NBits(bits, optional);
      const size_t others = single.inputs.size() - 1;
      std::vector<float> expected;
      for (size_t computed = 0; computed < size_t{1} << others; ++computed) {
        for (size_t i = 0; i < others; ++i) single.inputs[i + 1].constant = (computed >> i & 1) == 0;
        CAPTURE(bits, optional.size(), computed);
        const Tensor is = Results(single)[0];
        if (computed == 0) expected.assign(is.values<float>().begin(), is.values<float>().end());
        CheckNear(is, {2, 2}, expected);
      }
    }
  }
}

TEST_CASE("Contrib, MatMulNBitsRefusesWhatDoesNotFit", "[onnx]") {
  const auto with = [](const std::string& name, int64_t value) {
    Single single = NBits(4);
    single.attributes.clear();
    for (const auto& [attribute, usual] :
         std::vector<std::pair<std::string, int64_t>>{{"K", 20}, {"N", 2}, {"bits", 4}, {"block_size", 16}}) {
      if (attribute != name) single.attributes.push_back(IntAttribute(attribute, usual));
    }
    single.attributes.push_back(IntAttribute(name, value));
    return FaultOf(single);
  };
  CHECK(with("accuracy_level", 4) == "");
  CHECK(Mentions(with("bits", 3), "3 bits are not supported: 2, 4 and 8 are"));
  CHECK(Mentions(with("block_size", 8), "block_size is 8"));
  CHECK(Mentions(with("block_size", 24), "block_size is 24"));
  CHECK(Mentions(with("block_size", INT64_MIN), "block_size is"));
  CHECK(Mentions(with("N", 0), "N is 0 and K is 20"));
  CHECK(Mentions(with("N", INT64_MAX), "K and N are too large"));
  CHECK(Mentions(with("N", 3), "has 32 bytes, which are not [3,32] elements of uint4"));
  CHECK(Mentions(with("K", 21), "the last dim of A is 20 where K is 21"));
  CHECK(Mentions(with("weight_prepacked", 1), "weight_prepacked is not supported"));
  CHECK(Mentions(FaultOf(NBits(4, {{}, {}, Floats({3}, {1, 2, 3})})), "its bias has 3 elements where N is 2"));
  CHECK(Mentions(FaultOf(NBits(4, {Constant(Uint8({2}, {1, 2})), {}, Floats({1, 2}, {1, 2})})), "elements where N"));
  Single signed_bytes = NBits(4);
  signed_bytes.inputs[1] = Int8({2, 2, 8}, std::vector<int8_t>(32, 1));
  CHECK(Mentions(FaultOf(signed_bytes), "B \"x1\" is of element type INT8; uint8 is needed"));
  Single missing = NBits(4);
  missing.attributes.erase(missing.attributes.begin());
  CHECK(Mentions(FaultOf(missing), "its attribute K is missing"));
}

// ---- MatMulBnb4: two codes a byte, the first in its upper half; blocks go on from row to row ----

Single Bnb4(int64_t columns, int64_t type, std::vector<bool> constant = {true, true}) {
  std::vector<uint8_t> bytes;
  const int64_t count = 5 * columns;
  for (int64_t i = 0; i < (count + 1) / 2; ++i) bytes.push_back(static_cast<uint8_t>(i * 37 % 256));
  const Tensor largest = count <= 16 ? Floats({1}, {0.5F}) : Floats({2}, {0.5F, 2});
  return {"MatMulBnb4",
          {Cycle({2, 5}, -1, 0.25F, 7, 9), {Uint8({(count + 1) / 2}, bytes), constant[0]}, {largest, constant[1]}},
          {IntAttribute("K", 5), IntAttribute("N", columns), IntAttribute("block_size", 16),
           IntAttribute("quant_type", type)}};
}

TEST_CASE("Contrib, MatMulBnb4LooksCodesUp", "[onnx]") {
  for (const bool codes : {true, false}) {
    for (const bool largest : {true, false}) {
      CheckNear(Results(Bnb4(3, 0, {codes, largest}))[0], {2, 3},
                {-0.10416667F, 0.24023438F, 0.45638022F, -0.29166669F, -0.45703125F, -0.45963541F});
      CheckNear(Results(Bnb4(5, 1, {codes, largest}))[0], {2, 5},
                {0.18912807F, 0.054349322F, 0.24634872F, -1.2520655F, -1.2140174F, -0.56158596F, 0.20228179F,
                 0.52845097F, -1.5633245F, -1.2009035F});
    }
  }
}

TEST_CASE("Contrib, WhatMatMulBnb4DoesNotHaveIsRefused", "[onnx]") {
  const auto with = [](size_t attribute, const std::string& name, int64_t value) {
    Single single = Bnb4(3, 0);
    single.attributes[attribute] = IntAttribute(name, value);
    return FaultOf(single);
  };
  CHECK(Mentions(with(3, "quant_type", 2), "quant_type 2 is not supported: 0 (FP4) and 1 (NF4) are"));
  CHECK(Mentions(with(2, "block_size", 24), "block_size is 24"));
  CHECK(Mentions(with(1, "N", 0), "N is 0 and K is 5"));
  CHECK(Mentions(with(1, "N", INT64_MAX), "and K is 5"));
  Single longer = Bnb4(3, 0);
  longer.attributes[1] = IntAttribute("N", 4);
  CHECK_FALSE(EvaluateGraph(Load(BytesOf(longer)).value(), std::vector<Tensor>{longer.inputs[0].tensor}).ok());
  Single other = Bnb4(3, 0);
  other.attributes.push_back(IntAttribute("transB", 0));
  CHECK(Mentions(FaultOf(other), "transB 0 is not supported"));
}

// Of rows of 32 elements of four bits in two blocks; the row 3 does not exist, and -3 is the first.
TEST_CASE("Contrib, GatherBlockQuantizedUnpacksRows", "[onnx]") {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 48; ++i) bytes.push_back(static_cast<uint8_t>(i * 37 % 256));
  const Tensor data = Uint8({3, 16}, bytes), scales = Cycle({3, 2}, 0.5F, 0.25F, 1, 7);
  const Tensor indices = Tensor::Int64({2, 2}, {2, -3, 3, 1});
  const auto first_of_eight = [&](const GivenInput& zero_points) {
    const Tensor all = Results({"GatherBlockQuantized",
                                {Constant(data), indices, Constant(scales), zero_points},
                                {IntAttribute("block_size", 16)}})[0];
    CHECK(all.dims() == std::vector<int64_t>{2, 2, 32});
    std::vector<float> values;
    for (size_t i = 0; i < all.values<float>().size(); i += 8) values.push_back(all.values<float>()[i]);
    return values;
  };
  CHECK(first_of_eight(Constant(Uint8({3, 1}, {0x52, 0x81, 0xF3}))) ==
        std::vector<float>{-4.5F, 1.5F, -12.25F, -5.25F, -1, 1, 2.25F, 5.25F, 0, 0, 0, 0, -1, 3, 0, 5});
  CHECK(first_of_eight({}) == std::vector<float>{-12, -6, 0, 7, -4, -2, 0, 3, 0, 0, 0, 0, -8, -4, 0, 5});
  // Computed ones are unpacked in the run.
  for (const bool data_is_constant : {true, false}) {
    const Tensor all =
        Results({"GatherBlockQuantized",
                 {GivenInput(data, data_is_constant), indices, scales, Uint8({3, 1}, {0x52, 0x81, 0xF3})},
                 {IntAttribute("block_size", 16)}})[0];
    const float expected[] = {-4.5F, 1.5F, -12.25F, -5.25F, -1, 1, 2.25F, 5.25F};
    for (size_t i = 0; i < std::size(expected); ++i) CHECK(all.values<float>()[8 * i] == expected[i]);
  }
}

TEST_CASE("Contrib, GatherBlockQuantizedTakesOneIndex", "[onnx]") {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 64; ++i) bytes.push_back(static_cast<uint8_t>(i * 37 % 256));
  const Tensor scales = Cycle({2, 2}, 0.5F, 0.25F, 1, 7);
  const Tensor row = Results({"GatherBlockQuantized",
                              {Constant(Uint8({2, 32}, bytes)), Tensor::Int64({}, {1}), Constant(scales)},
                              {IntAttribute("block_size", 16), IntAttribute("bits", 8)}})[0];
  REQUIRE(row.dims() == std::vector<int64_t>{32});
  for (size_t i = 0; i < 32; ++i) {
    const float scale = scales.values<float>()[2 + i / 16];
    CHECK(row.values<float>()[i] == static_cast<float>(bytes[32 + i] - 128) * scale);
  }
}

TEST_CASE("Contrib, WhatGatherBlockQuantizedDoesNotHaveIsRefused", "[onnx]") {
  const Tensor data = Uint8({3, 16}, std::vector<uint8_t>(48, 1)), scales = Cycle({3, 2}, 0.5F, 0.25F, 1, 7);
  const Tensor indices = Tensor::Int64({2}, {2, 1});
  const auto refused = [&](std::vector<Wire> attributes) {
    return FaultOf({"GatherBlockQuantized", {Constant(data), indices, Constant(scales)}, std::move(attributes)});
  };
  CHECK(Mentions(refused({IntAttribute("bits", 0), IntAttribute("block_size", 16)}), "0 bits are not supported"));
  CHECK(Mentions(refused({IntAttribute("block_size", 20)}), "block_size is 20"));
  CHECK(Mentions(refused({IntAttribute("gather_axis", 1)}), "gather_axis and quantize_axis are the same"));
  CHECK(Mentions(refused({IntAttribute("gather_axis", 1), IntAttribute("quantize_axis", 0)}), "needs to be 0"));
  CHECK(Mentions(refused({IntAttribute("quantize_axis", 2)}), "quantize_axis is 2"));
}

}  // namespace
}  // namespace pt::testing::contrib_products_test
