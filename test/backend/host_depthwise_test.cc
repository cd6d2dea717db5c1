// Depthwise convolutions of the host library against the reference library: channels around the vectors', widths around
// the tiles', every kernel that has a loop of its own, edges and bounds.
#include <limits>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_depthwise_test {
namespace {

struct Case {
  int batch = 1, channels = 8, rows = 9, columns = 9, kernel_rows = 3, kernel_columns = 3;
  std::string attributes = "pads=[1,1,1,1]", rest = "", bias = ", b";
};

std::string Text(const Case& c) {
  const auto size = [](int n) { return std::to_string(n); };
  const std::string channels = size(c.channels);
  return "input x float32[" + size(c.batch) + "," + channels + "," + size(c.rows) + "," + size(c.columns) +
         "]\nconst w float32[" + channels + ",1," + size(c.kernel_rows) + "," + size(c.kernel_columns) +
         "] random 1\nconst b float32[" + channels + "] random 2\n" + (c.rest.empty() ? "y" : "m") + " = Conv(x, w" +
         c.bias + ") group=" + channels + " " + c.attributes + "\n" + c.rest + "output y\n";
}

void Check(const Case& c) { CheckText(Text(c)); }

size_t CountCandidates(const std::string& text) {
  const Graph graph = TypedText(text);
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  return HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), nodes, Precision()).size();
}

TEST_CASE("HostDepthwise, EverySizeAroundVectorsAndTilesEqualsTheReference", "[host]") {
  for (int n = 2; n <= 36; ++n) Check({.channels = n});
  for (int n = 1; n <= 24; ++n) Check({.columns = n});
  for (int n = 1; n <= 6; ++n) Check({.rows = n});
}

TEST_CASE("HostDepthwise, EveryKernelAndStrideEqualsTheReference", "[host]") {
  for (const int kernel : {1, 2, 3, 4, 5, 7, 9}) {
    for (const char* more : {"strides=[1,1]", "strides=[2,2]", "strides=[3,1]", "strides=[1,3]", "dilations=[2,2]",
                             "strides=[2,2] dilations=[1,2]"}) {
      const std::string pad = std::to_string(kernel / 2);
      const std::string pads = "pads=[" + pad + "," + pad + "," + pad + "," + pad + "] ";
      Check({.channels = 19,
             .rows = 17,
             .columns = 33,
             .kernel_rows = kernel,
             .kernel_columns = kernel,
             .attributes = pads + more});
    }
  }
  Check({.kernel_rows = 1, .kernel_columns = 3, .attributes = "pads=[0,1,0,1]"});
  Check({.kernel_rows = 5, .kernel_columns = 3, .attributes = "pads=[2,1,2,1]"});
}

TEST_CASE("HostDepthwise, UnevenAndMissingPadsEqualTheReference", "[host]") {
  for (const char* pads :
       {"pads=[0,0,0,0]", "pads=[0,1,2,3]", "pads=[2,0,0,2]", "auto_pad=\"SAME_UPPER\" strides=[2,2]",
        "auto_pad=\"SAME_LOWER\" strides=[2,2]", "auto_pad=\"VALID\""}) {
    Check({.channels = 17, .attributes = pads});
    Check({.batch = 3, .channels = 17, .rows = 12, .columns = 10, .attributes = pads, .bias = ""});
  }
  // Pads as wide as the image.
  Check({.rows = 2, .columns = 2, .kernel_rows = 5, .kernel_columns = 5, .attributes = "pads=[4,4,4,4]"});
}

TEST_CASE("HostDepthwise, RandomShapesEqualTheReference", "[host]") {
  const uint32_t seed = 20263;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 40; ++i) {
    const int kernel = upto(7);
    const std::string p = std::to_string(upto(4) - 1), s = std::to_string(upto(3));
    Check({.batch = upto(2),
           .channels = upto(70) + 1,
           .rows = upto(20) + kernel,
           .columns = upto(40) + kernel,
           .kernel_rows = kernel,
           .kernel_columns = kernel,
           .attributes = "pads=[" + p + "," + p + "," + p + "," + p + "] strides=[" + s + "," + s + "]"});
  }
}

TEST_CASE("HostDepthwise, KeepsResultsWithinTheirActivation", "[host]") {
  const std::string bounds = "const lo float32[] value -0.25\nconst hi float32[] value 0.5\n";
  Check({.channels = 20, .rest = "y = Relu(m)\n"});
  Check({.channels = 20, .rest = bounds + "y = Clip(m, lo, hi)\n"});
  Check({.channels = 20, .rest = bounds + "y = Clip(m, lo)\n"});
  Check({.channels = 20, .rest = bounds + "y = Clip(m, _, hi)\n"});
}

TEST_CASE("HostDepthwise, NumbersThatAreNoneStayWhereTheyAre", "[host]") {
  const Graph graph = TypedText(Text({.channels = 5, .rows = 6, .columns = 9, .rest = "y = Relu(m)\n"}));
  std::vector<float> x(5 * 6 * 9, 1);
  x[20] = std::numeric_limits<float>::quiet_NaN();
  x[100] = std::numeric_limits<float>::infinity();
  x[170] = -std::numeric_limits<float>::infinity();
  CheckAgainstReference(graph, {Tensor::Float32({1, 5, 6, 9}, x)});
}

TEST_CASE("HostDepthwise, WhatIsNotDepthwiseIsNotOffered", "[host]") {
  CHECK(CountCandidates(Text({})) > 0);
  CHECK(CountCandidates(Text({.rest = "y = Relu(m)\n"})) > 0);
  CHECK(CountCandidates(Text({.rest = "y = Tanh(m)\n"})) == 0);
  CHECK(CountCandidates(Text({.rest = "y = Relu(m)\noutput m\n"})) == 0);
  CHECK(CountCandidates("input x float32[1,8,5,5,5]\nconst w float32[8,1,3,3,3] random 1\ny = Conv(x, w) "
                        "group=8\noutput y\n") == 0);
  CHECK(CountCandidates("input x float32[1,8,5,5]\ninput w float32[8,1,3,3]\ny = Conv(x, w) group=8\noutput y\n") == 0);
}

}  // namespace
}  // namespace pt::testing::host_depthwise_test
