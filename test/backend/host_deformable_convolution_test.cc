// DeformConv of the host library against the reference library.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <cmath>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_deformable_convolution_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

struct DeformedWindow {
  std::array<int64_t, 2> kernel, strides, dilations;
  std::array<int64_t, 4> pads;
  std::array<int64_t, 2> out;  // of an image of 7 x 6
};
constexpr std::array kWindows = {DeformedWindow{{3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, {7, 6}},
                                 DeformedWindow{{2, 3}, {2, 1}, {1, 2}, {0, 1, 2, 0}, {4, 3}},
                                 DeformedWindow{{1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {7, 6}},
                                 DeformedWindow{{7, 6}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}}};

struct Grouping {
  int64_t channels, filters, groups, offset_groups;
};
// Among them offset groups within a group of filters, the reverse, and such that lie across.
constexpr std::array kGroupings = {Grouping{1, 1, 1, 1}, Grouping{20, 37, 1, 1}, Grouping{8, 6, 2, 1},
                                   Grouping{8, 3, 1, 4}, Grouping{8, 8, 4, 2},   Grouping{6, 9, 3, 2}};

template <size_t N>
std::string Listed(const std::array<int64_t, N>& values) {
  return DimsText(values);
}

std::string DeformText(const DeformedWindow& w, const Grouping& g, bool bias, bool mask) {
  const int64_t fields = g.offset_groups * w.kernel[0] * w.kernel[1];
  const std::string out = std::to_string(w.out[0]) + "," + std::to_string(w.out[1]) + "]\n";
  std::string text = "input x float32[2," + std::to_string(g.channels) + ",7,6]\nconst w float32[" +
                     std::to_string(g.filters) + "," + std::to_string(g.channels / g.groups) + "," +
                     std::to_string(w.kernel[0]) + "," + std::to_string(w.kernel[1]) +
                     "] random 3\ninput o float32[2," + std::to_string(2 * fields) + "," + out;
  if (bias) text += "const b float32[" + std::to_string(g.filters) + "] random 4\n";
  if (mask) text += "input m float32[2," + std::to_string(fields) + "," + out;
  return text + "y = DeformConv(x, w, o" +
         (bias   ? ", b"
          : mask ? ", _"
                 : "") +
         (mask ? ", m" : "") + ") strides=" + Listed(w.strides) + " dilations=" + Listed(w.dilations) +
         " pads=" + Listed(w.pads) + " group=" + std::to_string(g.groups) +
         " offset_group=" + std::to_string(g.offset_groups) + "\noutput y\n";
}

// Between elements, on them, at the image's edges and beyond.
Tensor Offsets(const std::vector<int64_t>& dims, std::mt19937& random) {
  std::uniform_real_distribution<float> near(-3, 3);
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(random() % 4 == 0 ? std::round(near(random)) : near(random));
  return Tensor::Float32(dims, std::move(values));
}

std::vector<Tensor> DeformInputs(const Graph& graph, std::mt19937& random) {
  std::vector<Tensor> inputs = SeededInputs(graph);
  inputs[1] = Offsets(inputs[1].dims(), random);
  return inputs;
}

}  // namespace

TEST_CASE("HostDeformConv, EveryWindowAndGroupingEqualsTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const DeformedWindow& window : kWindows) {
    for (const Grouping& grouping : kGroupings) {
      for (const auto& [bias, mask] :
           {std::pair(false, false), std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
        const std::string text = DeformText(window, grouping, bias, mask);
        INFO(text);
        const Graph graph = TypedText(text);
        CheckAgainstReference(graph, DeformInputs(graph, random), 1e-5);
      }
    }
  }
}

// As many positions as are sampled together, and some that are left; channels of several vectors.
TEST_CASE("HostDeformConv, LargeImagesEqualTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const Graph graph = TypedText(
      "input x float32[1,70,13,11]\nconst w float32[33,70,3,3] random 1\ninput o float32[1,18,13,11]\n"
      "const b float32[33] random 2\ninput m float32[1,9,13,11]\n"
      "y = DeformConv(x, w, o, b, m) pads=[1,1,1,1]\noutput y\n");
  CheckAgainstReference(graph, DeformInputs(graph, random), 1e-5);
}

TEST_CASE("HostDeformConv, TakesChannelsLastImages", "[host]") {
  const Graph graph = TypedText(DeformText(kWindows[0], kGroupings[1], true, true));
  std::mt19937 random(1);
  const std::set<std::string> layouts = CheckGroup(graph, {NodeId(0U)}, DeformInputs(graph, random), 1e-5);
  CHECK(layouts.size() == 2);
}

// What lies outside counts as zero even beside infinities, and what a mask weighs is what was sampled.
TEST_CASE("HostDeformConv, NumbersThatAreNotFiniteEqualTheReference", "[host]") {
  const DeformedWindow& window = kWindows[0];
  const Graph graph = TypedText(DeformText(window, {2, 1, 1, 1}, false, true));
  std::mt19937 random(7);
  std::vector<Tensor> inputs = DeformInputs(graph, random);
  const auto spoiled = [](const Tensor& tensor, const std::vector<float>& values, size_t step) {
    std::vector<float> all(tensor.values<float>().begin(), tensor.values<float>().end());
    for (size_t i = 0; i < values.size() && 3 + i * step < all.size(); ++i) all[3 + i * step] = values[i];
    return Tensor::Float32(tensor.dims(), std::move(all));
  };
  const std::vector<Tensor> plain = inputs;
  const std::vector<float> odd = {kNan, kInfinity, -kInfinity, 1e30F, -1e30F};
  for (size_t input = 0; input < inputs.size(); ++input) {
    inputs = plain;
    inputs[input] = spoiled(plain[input], odd, 17);
    INFO("input " << input);
    CheckAgainstReference(graph, inputs, 1e-5);
  }
  inputs = plain;
  inputs[1] = spoiled(plain[1], {0, 0, 0, 0, 0}, 17);
  inputs[2] = spoiled(plain[2], {kInfinity, kNan, -kInfinity}, 19);
  CheckAgainstReference(graph, inputs, 1e-5);
}

TEST_CASE("HostDeformConv, ComputedFiltersAreLeftToTheReference", "[host]") {
  const Graph graph = TypedText(
      "input x float32[1,2,4,4]\ninput w float32[3,2,1,1]\ninput o float32[1,2,4,4]\n"
      "y = DeformConv(x, w, o)\noutput y\n");
  const NodeId node(0U);
  CHECK(HostLibrary()->CandidatesFor(graph, MakeTestPlatform(1, false), {&node, 1}, Precision()).empty());
}

}  // namespace pt::testing::host_deformable_convolution_test
