// 3x3 convolutions by Winograd's minimal filtering: right at every size, pad and group, on one core and on two, for
// every instruction set that the processor has.
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "lib/backend/onednn/winograd_transform.h"
#include "test/backend/onednn_lab.h"

namespace pt::onednn_lab::onednn_winograd_test {
namespace {

// Rounding errors grow with the interpolation. Of the largest result; where Clip limits that, it is less than what was
// summed.
constexpr double kError2 = 2e-6, kError4 = 1e-5;

bool IsWinograd(const Candidate& candidate) { return candidate.variant.find("+winograd") != std::string::npos; }

// Runs every Winograd candidate; how many there were of each group of operators.
std::map<std::string, int> CheckWinograd(Lab& lab) {
  std::map<std::string, int> checked;
  for (const Candidate& candidate : lab.AllCandidates()) {
    if (!IsWinograd(candidate)) continue;
    INFO(lab.OperatorsOf(candidate) << " " << candidate.variant << " on unit class " << candidate.unit_class.value);
    const double error = lab.Error(candidate, lab.Run(candidate, NAN));
    CHECK(error <= (candidate.variant.ends_with("2") ? kError2 : kError4));
    ++checked[lab.OperatorsOf(candidate)];
  }
  return checked;
}

std::string Text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return "[" + text + "]";
}

}  // namespace

TEST_CASE("Winograd, EverySizeAndPadEqualsTheReference", "[backend]") {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 40; ++round) {
    const std::vector<int64_t> pads{draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2)};
    const int64_t height = std::max<int64_t>(draw(1, 14), 3 - pads[0] - pads[2]),
                  width = std::max<int64_t>(draw(1, 14), 3 - pads[1] - pads[3]);
    const int64_t in = 16 * draw(1, 3), out = 16 * draw(1, 4);
    const std::string text = "input x float32" + Text({draw(1, 2), in, height, width}) + "\nconst w float32" +
                             Text({out, in, 3, 3}) + " random 3\ny = Conv(x, w) pads=" + Text(pads) + "\noutput y\n";
    INFO(text);
    Lab lab(GraphOf(text), seed);
    CHECK(CheckWinograd(lab)["Conv"] == 8);  // two layouts, two tiles, two widths
  }
}

TEST_CASE("Winograd, WindowsOfThreeDimsOfEverySizeEqualTheReference", "[backend]") {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 24; ++round) {
    const int64_t window = draw(1, 4), dilation = draw(1, 2), reach = (window - 1) * dilation + 1;
    const std::vector<int64_t> pads{draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2)};
    const int64_t planes = std::max<int64_t>(draw(1, 6), reach - pads[0] - pads[3]),
                  height = std::max<int64_t>(draw(1, 9), 3 - pads[1] - pads[4]),
                  width = std::max<int64_t>(draw(1, 9), 3 - pads[2] - pads[5]);
    const int64_t in = 16 * draw(1, 2), out = 16 * draw(1, 3);
    const std::string text = "input x float32" + Text({draw(1, 2), in, planes, height, width}) + "\nconst w float32" +
                             Text({out, in, window, 3, 3}) + " random 3\ny = Conv(x, w) pads=" + Text(pads) +
                             " strides=" + Text({draw(1, 2), 1, 1}) + " dilations=" + Text({dilation, 1, 1}) +
                             "\noutput y\n";
    INFO(text);
    Lab lab(GraphOf(text), seed);
    CHECK(CheckWinograd(lab)["Conv"] == 8);
  }
}

// A window is 3 or more along some dims, and anything along others.
TEST_CASE("Winograd, DilatedWindowsAndLinesOfEverySizeEqualTheReference", "[backend]") {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  const std::vector<std::vector<int64_t>> windows = {
      {3}, {3, 3}, {3, 1}, {1, 3}, {3, 1, 1}, {1, 3, 1}, {1, 1, 3}, {3, 3, 1}, {3, 1, 3}, {2, 3, 3},
      {5}, {7},    {11},   {5, 5}, {7, 7},    {4, 3},    {1, 7},    {5, 1},    {3, 5, 5}, {4, 4}};
  int offered = 0;
  for (int round = 0; round < 120; ++round) {
    const std::vector<int64_t>& window = windows[static_cast<size_t>(round) % windows.size()];
    const int64_t in = 16 * draw(1, 2), out = 16 * draw(1, 2);
    std::vector<int64_t> x{draw(1, 2), in}, w{out, in}, begin, end, strides, dilations;
    for (const int64_t k : window) {
      dilations.push_back(k >= 3 ? draw(1, 3) : 1);
      strides.push_back(k == 1 && window.size() < 3 ? draw(1, 2) : 1);
      begin.push_back(draw(0, 2));
      end.push_back(draw(0, 2));
      const int64_t reach = (k - 1) * dilations.back() + 1;
      x.push_back(std::max<int64_t>(draw(1, window.size() == 3 ? 8 : 19), reach - begin.back() - end.back()));
      w.push_back(k);
    }
    std::vector<int64_t> pads = begin;
    pads.insert(pads.end(), end.begin(), end.end());
    const std::string text = "input x float32" + Text(x) + "\nconst w float32" + Text(w) +
                             " random 3\nconst b float32" + Text({out}) +
                             " random 4\ny = Conv(x, w, b) pads=" + Text(pads) + " strides=" + Text(strides) +
                             " dilations=" + Text(dilations) + "\nz = Relu(y)\noutput z\n";
    INFO(text);
    Lab lab(GraphOf(text), seed);
    const auto checked = CheckWinograd(lab);
    const bool dilated = std::ranges::any_of(dilations, [](int64_t d) { return d > 1; });
    // Tiles of dilated windows are not offered where most of them would be padding.
    if (!dilated) CHECK(checked.at("Conv+Relu") == 8);
    offered += checked.contains("Conv+Relu") ? 1 : 0;
  }
  CHECK(offered > 30);  // of 120: some 60
}

TEST_CASE("Winograd, WindowsOfThreeDimsHaveBiasActivationAndResidual", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,32,3,9,11]
input r float32[1,48,3,9,11]
const w float32[48,32,3,3,3] random 7
const b float32[48] random 8
const ch float32[48,1,1,1] random 9
a = Conv(x, w, b) pads=[1,1,1,1,1,1]
a1 = Add(a, r)
a2 = Relu(a1)
c = Conv(x, w) pads=[1,1,1,1,1,1]
c1 = Mul(c, ch)
output a2
output c1
)"));
  const auto checked = CheckWinograd(lab);
  for (const char* group : {"Conv", "Conv+Add", "Conv+Add+Relu", "Conv+Mul"}) {
    INFO(group);
    CHECK(checked.contains(group));
  }
}

TEST_CASE("Winograd, BiasActivationAndResidualAreAppliedOnTheWayOut", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,32,9,11]
input r float32[1,48,9,11]
const w float32[48,32,3,3] random 7
const b float32[48] random 8
const ch float32[48,1,1] random 9
const zero float32[] value 0
const top float32[] value 20
const half float32[] value 0.5
a = Conv(x, w, b) pads=[1,1,1,1]
a1 = Add(a, r)
a2 = Relu(a1)
c = Conv(x, w) pads=[1,1,1,1]
c1 = Mul(c, ch)
c2 = Add(c1, ch)
c3 = LeakyRelu(c2) alpha=0.2
c4 = Mul(c3, half)
d = Conv(x, w, b) pads=[1,1,1,1]
d1 = Clip(d, zero, top)
d2 = Mul(d1, r)
output a2
output c4
output d2
)"));
  const auto checked = CheckWinograd(lab);
  for (const char* group : {"Conv", "Conv+Add", "Conv+Add+Relu", "Conv+Mul", "Conv+Mul+Add", "Conv+Mul+Add+LeakyRelu",
                            "Conv+Mul+Add+LeakyRelu+Mul", "Conv+Clip", "Conv+Clip+Mul"}) {
    INFO(group);
    CHECK(checked.contains(group));
  }
}

TEST_CASE("Winograd, SeveralPiecesAndWeightsBeyondTheCaches", "[backend]") {
  for (const char* text : {"input x float32[1,128,45,46]\nconst w float32[128,128,3,3] random 1\n"
                           "y = Conv(x, w) pads=[1,1,1,1]\noutput y\n",
                           "input x float32[2,32,61,37]\nconst w float32[16,32,3,3] random 1\n"
                           "y = Conv(x, w) pads=[1,1,1,1]\noutput y\n"}) {
    INFO(text);
    Lab lab(GraphOf(text));
    CHECK(CheckWinograd(lab)["Conv"] == 8);
  }
}

TEST_CASE("Winograd, IsOfferedForNothingElse", "[backend]") {
  for (const char* convolution :
       {"const w float32[32,16,2,2] random 1\ny = Conv(x, w)\n",
        "const w float32[32,16,3,3] random 1\ny = Conv(x, w) strides=[2,1]\n",
        "const w float32[32,16,3,3] random 1\ny = Conv(x, w) dilations=[1,7] pads=[0,7,0,7]\n",
        "const w float32[32,16,3,2] random 1\ny = Conv(x, w)\n",
        "const w float32[32,16,3,1] random 1\ny = Conv(x, w) strides=[2,1]\n",
        "const w float32[32,8,3,3] random 1\ny = Conv(x, w) group=2\n",
        "const w float32[20,16,3,3] random 1\ny = Conv(x, w)\n", "input w float32[32,16,3,3]\ny = Conv(x, w)\n",
        "const w float32[16,32,3,3] random 1\ny = ConvTranspose(x, w)\n"}) {
    INFO(convolution);
    Lab lab(GraphOf("input x float32[1,16,8,8]\n" + std::string(convolution) + "output y\n"));
    CHECK(CheckWinograd(lab).empty());
  }
  for (const char* convolution : {"const w float32[32,16,3,3,2] random 1\ny = Conv(x, w)\n",
                                  "const w float32[32,16,3,2,1] random 1\ny = Conv(x, w)\n",
                                  "const w float32[32,16,3,2,3] random 1\ny = Conv(x, w)\n",
                                  "const w float32[32,16,3,1,1] random 1\ny = Conv(x, w) strides=[1,2,2]\n"}) {
    INFO(convolution);
    Lab lab(GraphOf("input x float32[1,16,4,8,8]\n" + std::string(convolution) + "output y\n"));
    CHECK(CheckWinograd(lab).empty());
  }
}

// A tile mixes all of its inputs, so infinities and NaN may spread over the tile, but never get lost.
TEST_CASE("Winograd, WhatIsNotFiniteIsNeverMadeFinite", "[backend]") {
  for (const float odd : {NAN, INFINITY, -INFINITY}) {
    Floats pixels(16 * 12 * 12, 0.5F);
    pixels[7 * 144 + 5 * 12 + 6] = odd;
    Lab lab(GraphOf("input x float32[1,16,12,12]\nconst w float32[16,16,3,3] random 1\n"
                    "y = Conv(x, w) pads=[1,1,1,1]\noutput y\n"),
            pixels);
    for (const Candidate& candidate : lab.CandidatesOf("Conv")) {
      if (!IsWinograd(candidate)) continue;
      INFO(odd << " " << candidate.variant);
      const Floats got = lab.Run(candidate), &want = lab.Expected(GroupOutputs(lab.graph(), candidate.nodes)[0]);
      for (size_t i = 0; i < want.size(); ++i) {
        if (!std::isfinite(want[i])) CHECK_FALSE(std::isfinite(got[i]));
        const int64_t row = static_cast<int64_t>(i) / 12 % 12, column = static_cast<int64_t>(i) % 12;
        const bool near = row >= 4 && row < 8 && column >= 4 && column < 8;
        if (!near && std::isfinite(want[i])) CHECK(std::isfinite(got[i]));
      }
    }
  }
}

TEST_CASE("Winograd, EveryInstructionSetTransformsAlike", "[backend]") {
  onednn::WinogradSizes sizes{.batch = 1, .in_channels = 32, .out_channels = 16};
  sizes.rows = {7, 7, 3, 1, 1, 1};
  sizes.columns = {9, 9, 3, 1, 1, 1};
  const onednn::ChannelPlanes in{.block = 32, .row = 9 * 32, .column = 32},
      out{.block = 16, .row = 9 * 16, .column = 16};
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Floats x(32 * 63);
  for (float& element : x) element = normal(random);
  for (const int64_t tile : {2, 4}) {
    sizes.tile = tile;
    const int64_t tiles = sizes.tiles();
    std::vector<Floats> patches, results;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      Floats& patch = patches.emplace_back(static_cast<size_t>(sizes.products() * tiles * 32), NAN);
      Floats& y = results.emplace_back(16 * 63, NAN);
      TransformInput(sizes, x.data(), in, 0, tiles, patch.data(), tiles * 32);
      TransformOutput(sizes, patch.data(), tiles * 16, 0, tiles, {}, y.data(), out);
      for (size_t i = 0; i < patch.size(); ++i) CHECK(std::abs(patch[i] - patches[0][i]) < 1e-5F);
      for (size_t i = 0; i < y.size(); ++i) CHECK(std::abs(y[i] - results[0][i]) < 1e-4F);
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

// Against the formula: full blocks of output channels and what is left of one, for every instruction set.
TEST_CASE("Winograd, WeightsAreTransformedAsTheFormulaSays", "[backend]") {
  const double root = std::sqrt(2.0);
  const double rows2[6][3] = {{-1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  const double rows4[6][3] = {{1, 0, 0},
                              {-2.0 / 3, -root / 3, -1.0 / 3},
                              {-2.0 / 3, root / 3, -1.0 / 3},
                              {1.0 / 6, root / 6, 1.0 / 3},
                              {1.0 / 6, -root / 6, 1.0 / 3},
                              {0, 0, 1}};
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (const int64_t tile : {2, 4}) {
    const auto& g = tile == 2 ? rows2 : rows4;
    for (const int64_t in : {1, 3, 16}) {
      for (const int64_t out : {1, 15, 16, 17, 48}) {
        onednn::WinogradSizes sizes{.tile = tile, .batch = 1, .in_channels = in, .out_channels = out};
        const int64_t planes = in == 3 ? 2 : 1;
        sizes.planes.window = planes;
        sizes.rows.window = sizes.columns.window = 3;
        const auto at = [](int64_t i) { return static_cast<size_t>(i); };
        Floats weights(at(out * in * planes * 9));
        for (float& weight : weights) weight = normal(random);
        for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
          hwy::SetSupportedTargetsForTest(target);
          Floats got(at(sizes.products() * sizes.inner() * out), NAN);
          onednn::TransformWeights(sizes, weights, got.data());
          for (int64_t p = 0; p < sizes.products(); ++p) {
            const int64_t i = p / sizes.patch(), j = p % sizes.patch();
            for (int64_t c = 0; c < sizes.inner(); ++c) {
              for (int64_t o = 0; o < out; ++o) {
                const int64_t window = ((o * in + c % in) * planes + c / in) * 9;
                double sum = 0;
                for (int64_t k = 0; k < 9; ++k) {
                  sum += g[i][k / 3] * static_cast<double>(weights[at(window + k)]) * g[j][k % 3];
                }
                const double error = std::abs(static_cast<double>(got[at((p * sizes.inner() + c) * out + o)]) - sum);
                REQUIRE(error <= std::abs(sum) * 1e-7 + 1e-12);
              }
            }
          }
        }
        hwy::SetSupportedTargetsForTest(0);
      }
    }
  }
}

}  // namespace pt::onednn_lab::onednn_winograd_test
