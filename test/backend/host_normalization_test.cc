// Normalisations and softmax of the host library against the reference library: every length around the vectors', the
// elements that go wrong, and rows far from 0.
#include <array>
#include <catch2/catch_get_random_seed.hpp>
#include <limits>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_normalization_test {
namespace {

std::string Normalization(const std::string& op, const std::string& dims, const std::string& row, int axis) {
  const bool centred = op == "LayerNormalization";
  return "input x float32" + dims + "\ninput s float32" + row + "\n" + (centred ? "input b float32" + row + "\n" : "") +
         "y = " + op + (centred ? "(x, s, b)" : "(x, s)") + " axis=" + std::to_string(axis) + "\noutput y\n";
}
std::string SoftmaxText(const std::string& op, const std::string& dims, int axis) {
  return "input x float32" + dims + "\ny = " + op + "(x) axis=" + std::to_string(axis) + "\noutput y\n";
}

constexpr std::array kNormalizations = {"LayerNormalization", "RMSNormalization"};
constexpr std::array kSoftmaxes = {"Softmax", "LogSoftmax"};

// Slices have gaps between what is dense: rows of one dim only.
TEST_CASE("HostNormalization, EveryLengthAroundTheVectorsEqualsTheReference", "[host]") {
  for (int n = 1; n <= 140; ++n) {
    const std::string row = "[" + std::to_string(n) + "]", dims = "[3,2," + std::to_string(n) + "]";
    for (const char* op : kNormalizations) CheckText(Normalization(op, dims, row, -1));
    for (const char* op : kSoftmaxes) CheckText(SoftmaxText(op, dims, 2));
  }
}

TEST_CASE("HostNormalization, LongRowsAndManyRowsEqualTheReference", "[host]") {
  for (const char* op : kNormalizations) {
    CheckText(Normalization(op, "[2,20011]", "[20011]", 1));
    CheckText(Normalization(op, "[1000,9]", "[9]", 1));
  }
  for (const char* op : kSoftmaxes) {
    CheckText(SoftmaxText(op, "[2,20011]", 1));
    CheckText(SoftmaxText(op, "[1000,9]", -1));
    CheckText(SoftmaxText(op, "[1031]", 0));
  }
}

TEST_CASE("HostNormalization, SoftmaxBeforeOperatorSet13IsOverAllDimsFromItsAxisOn", "[host]") {
  for (const char* op : kSoftmaxes) {
    INFO(op);
    CheckText("opset 12\n" + SoftmaxText(op, "[2,3,4]", 2));
    CheckText("opset 12\n" + SoftmaxText(op, "[2,3,1]", -1));
    for (const int axis : {0, 1, 3}) {
      const Graph graph = TypedText("opset 12\n" + SoftmaxText(op, "[2,3,4]", axis));
      CHECK(HostLibrary()->WhyUnsupported(graph, NodeId(0U)).has_value());
    }
  }
}

TEST_CASE("HostNormalization, ScaleWithoutBiasEqualsTheReference", "[host]") {
  CheckText("input x float32[5,37]\ninput s float32[37]\ny = LayerNormalization(x, s) epsilon=0.1\noutput y\n");
  CheckText("input x float32[5,37]\ninput s float32[37]\ny = RMSNormalization(x, s) epsilon=0.1\noutput y\n");
}

// On slices of 3 dims and more, channels are not contiguous: those are refused, so only dense tensors are compared.
TEST_CASE("HostNormalization, GroupsAndInstancesEqualTheReference", "[host]") {
  const auto inputs = [](const std::string& dims, int channels) {
    const std::string vector = "[" + std::to_string(channels) + "]\n";
    return "input x float32" + dims + "\ninput s float32" + vector + "input b float32" + vector;
  };
  for (const auto& [dims, channels] : std::vector<std::pair<std::string, int>>{
           {"[1,6,5,7]", 6}, {"[3,6,33]", 6}, {"[2,12,1,1]", 12}, {"[2,6,40,41]", 6}, {"[0,6,3]", 6}}) {
    CheckText(inputs(dims, channels) + "y = InstanceNormalization(x, s, b) epsilon=0.01\noutput y\n", 1e-5, false);
    for (const int groups : {1, 2, 3, 6}) {
      const std::string node = "y = GroupNormalization(x, s, b) num_groups=" + std::to_string(groups);
      CheckText(inputs(dims, channels) + node + " : float32" + dims + "\noutput y\n", 1e-5, false);
    }
  }
}

// As convolutions make images: behind one, candidates take channels side by side, and in blocks where these are full.
// All nodes behind it are one group.
void CheckBehindConvolution(const std::string& dims, int64_t channels, const std::string& nodes) {
  const std::string n = std::to_string(channels);
  const Graph graph = TypedText("input x float32" + dims + "\nconst k float32[" + n + ",2" +
                                (dims == "[2,2,150]" ? ",1" : ",1,1") + "] random 9\nc = Conv(x, k)\ninput s float32[" +
                                n + "]\ninput b float32[" + n + "]\n" + nodes + "output y\n");
  INFO(dims << ", " << channels << ", " << nodes);
  const std::unique_ptr<Library> host = HostLibrary(), reference = MakeReferenceLibrary();
  const Platform platform = MakeTestPlatform(4, false);
  std::vector<NodeId> group;
  for (uint32_t node = 1; node < graph.nodes().size(); ++node) group.emplace_back(node);
  std::map<ValueId, Tensor> values;
  const std::vector<Tensor> inputs = SeededInputs(graph);
  REQUIRE(RunGraph(graph, platform, *reference, inputs, 1, &values).ok());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  std::vector<Tensor> own;
  for (const ValueId id : GroupInputs(graph, group)) own.push_back(values.at(id));
  const Tensor& expected = values.at(GroupOutputs(graph, group)[0]);
  std::set<std::string> layouts;
  for (const Candidate& candidate : host->CandidatesFor(graph, platform, group, Precision())) {
    layouts.insert(ToString(candidate.out[0].layout));
    INFO(ToString(candidate.out[0].layout));
    const uint32_t width = platform.unit_class(candidate.unit_class).cores;
    const auto dense = RunCandidate(graph, platform, *host, candidate, own, width);
    REQUIRE(dense.ok());
    CHECK(Difference((*dense)[0], expected, 1e-5) == "");
    if (candidate.out[0].layout.is_row_major()) continue;  // slices of planes are not contiguous: refused
    const auto slices = RunOnSlices(graph, platform, *host, candidate, own, width);
    REQUIRE(slices.ok());
    CHECK(Difference((*slices)[0], expected, 1e-5) == "");
  }
  CHECK(layouts.size() == (channels % 16 == 0 ? 3 : 2));
}

TEST_CASE("HostNormalization, ChannelsSideBySideEqualTheReference", "[host]") {
  for (const char* dims : {"[2,2,5,7]", "[1,2,61,70]", "[3,2,1,1]", "[2,2,150]"}) {
    for (const int64_t channels : {4, 32, 36, 160}) {
      CheckBehindConvolution(dims, channels, "y = InstanceNormalization(c, s, b)\n");
      CheckBehindConvolution(dims, channels, "y = GroupNormalization(c, s, b) num_groups=1\n");
      CheckBehindConvolution(dims, channels, "y = GroupNormalization(c, s, b) num_groups=4 epsilon=0.1\n");
    }
  }
}

TEST_CASE("HostNormalization, WhatIsElementwiseBehindItIsOneGroup", "[host]") {
  for (const char* dims : {"[2,2,5,7]", "[1,2,61,70]", "[3,2,1,1]", "[2,2,150]"}) {
    for (const int64_t channels : {4, 32, 36, 160, 4112}) {
      if (channels > 1000 && dims != std::string("[2,2,5,7]")) continue;
      CheckBehindConvolution(dims, channels, "n = InstanceNormalization(c, s, b)\ny = Relu(n)\n");
      CheckBehindConvolution(dims, channels,
                             "n = GroupNormalization(c, s, b) num_groups=4\ng = Sigmoid(n)\ny = Mul(n, g)\n");
      // What was normalised is read again.
      CheckBehindConvolution(dims, channels,
                             "n = InstanceNormalization(c, s, b)\nl = LeakyRelu(n) alpha=0.2\ny = Add(c, l)\n");
    }
  }
}

TEST_CASE("HostNormalization, WhatIsReadOutsideTheGroupIsNotOffered", "[host]") {
  const Graph graph = TypedText(
      "input x float32[1,16,4,4]\ninput s float32[16]\ninput b float32[16]\nn = InstanceNormalization(x, s, b)\n"
      "y = Relu(n)\noutput y\noutput n\n");
  const std::vector<NodeId> nodes = {NodeId(0U), NodeId(1U)};
  CHECK(HostLibrary()->CandidatesFor(graph, MakeTestPlatform(1, false), nodes, Precision()).empty());
}

TEST_CASE("HostNormalization, ChannelsSideBySideFarFromZeroAndNotFiniteEqualTheReference", "[host]") {
  const std::unique_ptr<Library> host = HostLibrary(), reference = MakeReferenceLibrary();
  const Platform platform = MakeTestPlatform(2, false);
  const NodeId node(0U);
  const Graph graph = TypedText(
      "input x float32[1,16,40,40]\ninput s float32[16]\ninput b float32[16]\n"
      "y = InstanceNormalization(x, s, b)\noutput y\n");
  for (const float odd : {0.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<Tensor> inputs = SeededInputs(graph);
    std::vector<float> image(inputs[0].values<float>().begin(), inputs[0].values<float>().end());
    for (float& x : image) x = x * 0.01F + 300;
    if (odd != 0) image[5000] = odd;  // of the fourth channel
    inputs[0] = Tensor::Float32(inputs[0].dims(), std::move(image));
    const auto expected = RunGraph(graph, platform, *reference, inputs, 1, nullptr);
    REQUIRE(expected.ok());
    for (const Candidate& candidate : host->CandidatesFor(graph, platform, {&node, 1}, Precision())) {
      INFO(odd << ", " << ToString(candidate.out[0].layout));
      const uint32_t width = platform.unit_class(candidate.unit_class).cores;
      const auto result = RunCandidate(graph, platform, *host, candidate, inputs, width);
      REQUIRE(result.ok());
      CHECK(Difference((*result)[0], (*expected)[0], 2e-5) == "");
    }
  }
}

// The float32 sum of such rows has lost what makes the elements differ.
TEST_CASE("HostNormalization, RowsFarFromZeroKeepTheirDigits", "[host]") {
  for (const float offset : {1e4F, -3e6F, 16777216.0F}) {
    for (const int64_t n : {7, 64, 1021}) {
      std::vector<float> x(static_cast<size_t>(2 * n));
      for (size_t i = 0; i < x.size(); ++i) x[i] = offset + static_cast<float>(i * 37 % 64);
      INFO("offset " << offset << ", " << n << " elements");
      const std::string row = "[" + std::to_string(n) + "]";
      const Tensor ones = Tensor::Float32({n}, std::vector<float>(static_cast<size_t>(n), 1.0F));
      const Tensor zeros = Tensor::Float32({n}, std::vector<float>(static_cast<size_t>(n), 0.0F));
      CheckAgainstReference(TypedText(Normalization("LayerNormalization", "[2," + std::to_string(n) + "]", row, 1)),
                            {Tensor::Float32({2, n}, x), ones, zeros}, 1e-6);
      CheckAgainstReference(TypedText(SoftmaxText("Softmax", "[2," + std::to_string(n) + "]", 1)),
                            {Tensor::Float32({2, n}, x)}, 1e-6);
    }
  }
}

TEST_CASE("HostNormalization, AwkwardElementsEqualTheReference", "[host]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor scale = RandomTensor(DataType::kFloat32, {37}, 3), bias = RandomTensor(DataType::kFloat32, {37}, 4);
  const auto check = [&](const std::vector<float>& x) {
    const Tensor rows = Tensor::Float32({1, 37}, x);
    for (const char* op : kNormalizations) {
      INFO(op);
      const Graph graph = TypedText(Normalization(op, "[1,37]", "[37]", 1));
      CheckAgainstReference(graph, graph.inputs().size() == 3 ? std::vector<Tensor>{rows, scale, bias}
                                                              : std::vector<Tensor>{rows, scale});
    }
    for (const char* op : kSoftmaxes) {
      INFO(op);
      CheckAgainstReference(TypedText(SoftmaxText(op, "[1,37]", 1)), {rows});
    }
  };
  for (const float awkward : {kNan, kInfinity, -kInfinity, 3e38F, -3e38F, 1e20F, 100.0F, -0.0F}) {
    for (const size_t at : {0, 1, 15, 16, 17, 33, 36}) {
      std::vector<float> x(37, 0.5F);
      x[at] = awkward;
      INFO("element " << at << " is " << awkward);
      check(x);
    }
    INFO("all are " << awkward);
    check(std::vector<float>(37, awkward));
  }
}

// Moments are taken around the first element: far from the others, equal to them, or with a mean that hides the rest.
TEST_CASE("HostNormalization, RowsWithAStrangeFirstElementEqualTheReference", "[host]") {
  const unsigned seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (const int64_t n : {2, 17, 768, 5000}) {
    const std::string row = std::to_string(n);
    const Graph graph = TypedText("input x float32[1," + row + "]\nconst s float32[" + row +
                                  "] ones\ny = LayerNormalization(x, s) epsilon=1e-9\noutput y\n");
    for (const auto& [first, mean, width] :
         {std::tuple(1e6F, 0.0F, 1.0F), std::tuple(-1e30F, 5.0F, 1.0F), std::tuple(0.0F, 1e4F, 1.0F),
          std::tuple(1e6F, 1e6F, 0.5F), std::tuple(3.0F, 3.0F, 0.0F), std::tuple(1e-30F, 0.0F, 1e-30F)}) {
      std::vector<float> x = {first};
      for (int64_t i = 1; i < n; ++i) x.push_back(mean + width * normal(random));
      INFO(first << " before " << mean << " and around");
      CheckAgainstReference(graph, {Tensor::Float32({1, n}, x)}, 1e-6);
    }
  }
}

TEST_CASE("HostLpNormalization, EveryAxisAndNormEqualsTheReference", "[host]") {
  for (const char* dims : {"[3,5,7]", "[2,600,3]", "[2,3,1000]", "[1,1,1]", "[2,0,3]"}) {
    for (int axis = -3; axis < 3; ++axis) {
      for (const char* p : {"1", "2"}) {
        CheckText("input x float32" + std::string(dims) + "\ny = LpNormalization(x) axis=" + std::to_string(axis) +
                      " p=" + p + "\noutput y\n",
                  1e-6);
      }
    }
  }
  // Lines of zeros, of what overflows or vanishes as float32, and of what is no number.
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x =
      Tensor::Float32({5, 3}, {0, -0.0F, 0, 3e38F, 3e38F, -3e38F, 1e-45F, 0, 1e-45F, kInfinity, 1, 0, kNan, 1, 2});
  for (const char* attributes : {"axis=1 p=1", "axis=1 p=2", "axis=0 p=2"}) {
    CheckAgainstReference(
        TypedText("input x float32[5,3]\ny = LpNormalization(x) " + std::string(attributes) + "\noutput y\n"), {x},
        1e-6);
  }
}

}  // namespace
}  // namespace pt::testing::host_normalization_test
