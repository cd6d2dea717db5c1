// MoE of ONNX Runtime. Expected numbers are its own, of version 1.32, with the same inputs.
#include <limits>

#include "test/onnx/contrib_lab.h"

namespace pt::testing::contrib_experts_test {
namespace {

const Tensor kTokens = Cycle({1, 3, 4}, -1, 0.25F, 5, 11), kRouter = Cycle({3, 3}, -1, 0.5F, 4, 9);
const Tensor kUp = Cycle({3, 4, 4}, -1, 0.125F, 7, 17), kUpBias = Cycle({3, 4}, -0.5F, 0.25F, 3, 7);
const Tensor kDown = Cycle({3, 4, 4}, -1, 0.125F, 5, 19), kDownBias = Cycle({3, 4}, 0.5F, -0.25F, 2, 5);

TEST_CASE("Contrib, ExpertsByDefaultAreOneOfRelu", "[onnx]") {
  CheckNear(Results({"MoE", {kTokens, kRouter, kUp, {}, kDown}})[0], {1, 3, 4},
            {-0.98870897F, -0.74153173F, -0.49435449F, -0.24717724F, 1.244948F, 1.4631348F, 1.6813215F, 1.8995082F,
             0.82815617F, 0.98777282F, 1.1473895F, 1.3070062F});
}

TEST_CASE("Contrib, SeveralExpertsCountByNormalisedWeights", "[onnx]") {
  const std::vector<GivenInput> inputs = {kTokens,           kRouter,         Constant(kUp),
                                          Constant(kUpBias), Constant(kDown), Constant(kDownBias)};
  CheckNear(Results({"MoE",
                     inputs,
                     {IntAttribute("k", 2), StringAttribute("activation_type", "gelu"),
                      IntAttribute("normalize_routing_weights", 1)}})[0],
            {1, 3, 4},
            {-0.96480453F, -0.69599241F, 0.26196435F, 0.1189248F, 1.5925336F, 2.5563269F, 2.4191241F, 2.4309247F,
             1.9305297F, 1.8409214F, 2.1151745F, 2.6955762F});
}

TEST_CASE("Contrib, ExpertsOfSwiGluHaveTheirGatesBesideWhatTheyLetThrough", "[onnx]") {
  const std::vector<GivenInput> inputs = {kTokens,  kRouter, kUp, kUpBias, Cycle({3, 4, 2}, -1, 0.125F, 5, 19),
                                          kDownBias};
  CheckNear(Results({"MoE",
                     inputs,
                     {IntAttribute("k", 2), StringAttribute("activation_type", "swiglu"),
                      IntAttribute("swiglu_fusion", 1), FloatAttribute("swiglu_limit", 0.5F),
                      FloatAttribute("activation_alpha", 1.702F), FloatAttribute("activation_beta", 1)}})[0],
            {1, 3, 4},
            {0.26610965F, -0.13788366F, 0.46830621F, -0.082325101F, -0.23996148F, 0.61795932F, -0.11603014F,
             -0.14591359F, 0.52779895F, -0.16269577F, -0.011938646F, 0.03781794F});
}

TEST_CASE("Contrib, ExpertsThatAreNotChosenCountNothing", "[onnx]") {
  std::vector<float> values(kDown.values<float>().begin(), kDown.values<float>().end());
  for (size_t i = 32; i < 48; ++i) values[i] = std::numeric_limits<float>::infinity();
  const Tensor router = Floats({3, 3}, {2, 1, 0, 1, 2, 0, 2, 2, 0});  // never the last
  const auto with = [&](const Tensor& down) { return Results({"MoE", {kTokens, router, kUp, {}, down}})[0]; };
  const Tensor plain = with(kDown);
  CheckNear(with(Floats({3, 4, 4}, values)), {1, 3, 4}, {plain.values<float>().begin(), plain.values<float>().end()});
}

// Elements of so many bits, low ones first, as the reals that they stand for with a scale and a zero point each.
struct PackedMatrix {
  Tensor bytes, scales, zero_points, reals;
};
PackedMatrix Packed(std::vector<int64_t> dims, int bits, int64_t block) {
  const int64_t columns = dims[2] * 8 / bits, rows = dims[0] * dims[1], blocks = columns / block;
  std::vector<uint8_t> bytes, points;
  for (int64_t i = 0; i < rows * dims[2]; ++i) bytes.push_back(static_cast<uint8_t>(i * 37 % 251));
  const int64_t width = (blocks * bits + 7) / 8;
  for (int64_t i = 0; i < rows * width; ++i) points.push_back(static_cast<uint8_t>(i * 91 % 253));
  PackedMatrix matrix = {Uint8(dims, bytes),
                         Cycle({dims[0], dims[1], blocks}, 0.02F, 0.01F, 1, 7),
                         Uint8({dims[0], dims[1], width}, points),
                         {}};
  const auto element = [&](const std::vector<uint8_t>& from, int64_t bytes_a_row, int64_t row, int64_t at) {
    const int shift = static_cast<int>(at * bits % 8);
    return from[static_cast<size_t>(row * bytes_a_row + at * bits / 8)] >> shift & ((1 << bits) - 1);
  };
  std::vector<float> reals;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t at = 0; at < columns; ++at) {
      const float scale = matrix.scales.values<float>()[static_cast<size_t>(row * blocks + at / block)];
      const int above = element(bytes, dims[2], row, at) - element(points, width, row, at / block);
      reals.push_back(static_cast<float>(above) * scale);
    }
  }
  matrix.reals = Floats({dims[0], dims[1], columns}, reals);
  return matrix;
}

TEST_CASE("Contrib, ExpertsOfAFewBitsAreThoseOfTheirReals", "[onnx]") {
  for (const int bits : {2, 4, 8}) {
    CAPTURE(bits);
    const PackedMatrix up = Packed({3, 32, 32 * bits / 8}, bits, 16), down = Packed({3, 32, 32 * bits / 8}, bits, 16);
    const Tensor x = Cycle({3, 32}, -1, 0.25F, 5, 11), bias = Cycle({3, 32}, -0.5F, 0.25F, 3, 7);
    const Tensor is =
        Results({"QMoE",
                 {x,
                  kRouter,
                  Constant(up.bytes),
                  Constant(up.scales),
                  Constant(bias),
                  Constant(down.bytes),
                  Constant(down.scales),
                  {},
                  {},
                  {},
                  {},
                  Constant(up.zero_points),
                  Constant(down.zero_points)},
                 {IntAttribute("k", 2), IntAttribute("expert_weight_bits", bits), IntAttribute("block_size", 16)}})[0];
    const Tensor should = Results({"MoE",
                                   {x, kRouter, up.reals, bias, down.reals},
                                   {IntAttribute("k", 2), IntAttribute("normalize_routing_weights", 1)}})[0];
    CheckNear(is, {3, 32}, {should.values<float>().begin(), should.values<float>().end()});
  }
}

TEST_CASE("Contrib, WhatQMoEDoesNotHaveIsRefused", "[onnx]") {
  const PackedMatrix up = Packed({3, 32, 16}, 4, 16);
  const std::vector<GivenInput> inputs = {Cycle({3, 32}, -1, 0.25F, 5, 11),
                                          kRouter,
                                          Constant(up.bytes),
                                          Constant(up.scales),
                                          {},
                                          Constant(up.bytes),
                                          Constant(up.scales)};
  const auto refused = [&](const Wire& attribute) {
    return FaultOf({"QMoE", inputs, {IntAttribute("block_size", 16), attribute}});
  };
  CHECK(refused(IntAttribute("weights_prepacked", 0)).empty());
  CHECK(Mentions(refused(IntAttribute("weights_prepacked", 1)), "weights_prepacked"));
  CHECK(Mentions(refused(StringAttribute("quant_type", "fp8")), "fp8"));
  CHECK(Mentions(refused(IntAttribute("expert_weight_bits", 0)), "0 bits"));
  CHECK(Mentions(refused(IntAttribute("fc2_expert_weight_bits", 3)), "3 bits"));
  CHECK(Mentions(FaultOf({"QMoE", inputs, {IntAttribute("block_size", 48)}}), "block_size is 48"));
  std::vector<GivenInput> weighted = inputs;
  weighted.resize(15);
  weighted[14] = kRouter;
  CHECK(Mentions(FaultOf({"QMoE", weighted, {IntAttribute("block_size", 16)}}), "input 14 is not supported"));
}

TEST_CASE("Contrib, WhatMoEDoesNotHaveIsRefused", "[onnx]") {
  const std::vector<GivenInput> inputs = {kTokens, kRouter, kUp, {}, kDown};
  const auto refused = [&](const Wire& attribute) { return FaultOf({"MoE", inputs, {attribute}}); };
  CHECK(Mentions(refused(IntAttribute("use_sparse_mixer", 1)), "use_sparse_mixer"));
  CHECK(Mentions(refused(IntAttribute("swiglu_limit_after_activation", 1)), "swiglu_limit_after_activation"));
  CHECK(Mentions(refused(IntAttribute("k", 4)), "k is 4 of 3 experts"));
  CHECK(Mentions(refused(IntAttribute("k", 0)), "k is 0"));
  CHECK(Mentions(refused(StringAttribute("activation_type", "swiglu")), "swiglu_fusion 1"));
  CHECK(Mentions(refused(StringAttribute("activation_type", "geglu")), "geglu"));
  CHECK(Mentions(FaultOf({"MoE", {kTokens, kRouter, kUp, {}, kDown, {}, kUp}}), "fc3_experts_weights"));
}

}  // namespace
}  // namespace pt::testing::contrib_experts_test
