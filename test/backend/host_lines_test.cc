// Convolutions of one spatial dim of the host library against the reference library: each kernel has images of one row
// in them.
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_lines_test {
namespace {

struct Line {
  int batch = 1, groups = 1, group_in = 1, group_out = 1, length = 9, kernel = 3;
  std::string attributes = "", rest = "";
};

std::string Text(const Line& c) {
  const auto size = [](int n) { return std::to_string(n); };
  const std::string out = size(c.groups * c.group_out);
  return "input x float32[" + size(c.batch) + "," + size(c.groups * c.group_in) + "," + size(c.length) +
         "]\nconst w float32[" + out + "," + size(c.group_in) + "," + size(c.kernel) + "] random 1\nconst b float32[" +
         out + "] random 2\n" + (c.rest.empty() ? "y" : "m") + " = Conv(x, w, b) group=" + size(c.groups) + " " +
         c.attributes + "\n" + c.rest + "output y\n";
}

// In every candidate, of which there is one at least.
void Check(const Line& c) {
  INFO(Text(c));
  const Graph graph = TypedText(Text(c));
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  CHECK(!HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), nodes, Precision()).empty());
  CheckText(Text(c));
}

std::string Pads(int before, int behind) {
  return "pads=[" + std::to_string(before) + "," + std::to_string(behind) + "] ";
}

}  // namespace

TEST_CASE("HostLines, DepthwiseOfEveryKernelEqualsTheReference", "[host]") {
  for (int kernel = 1; kernel <= 40; ++kernel) {
    Check({.groups = 35, .length = 50, .kernel = kernel, .attributes = Pads(kernel / 2, kernel / 2)});
    Check({.groups = 16, .length = 50, .kernel = kernel, .attributes = Pads(kernel - 1, 0), .rest = "y = Relu(m)\n"});
  }
  for (int n = 2; n <= 70; n += 3) Check({.groups = n, .kernel = 4, .attributes = Pads(3, 0)});
  for (int n = 1; n <= 30; ++n) Check({.groups = 33, .length = n, .kernel = 5, .attributes = Pads(2, 2)});
}

TEST_CASE("HostLines, GroupsEqualTheReference", "[host]") {
  for (const int channels : {2, 3, 8, 16, 48}) {
    for (const int kernel : {1, 3, 15, 128}) {
      Check({.groups = 4,
             .group_in = channels,
             .group_out = channels,
             .length = 40,
             .kernel = kernel,
             .attributes = Pads(kernel / 2, kernel / 2)});
    }
  }
}

TEST_CASE("HostLines, FewFiltersEqualTheReference", "[host]") {
  for (const int filters : {1, 2, 5, 12}) {
    for (const int kernel : {2, 7, 16}) {
      Check({.batch = 2,
             .group_in = 20,
             .group_out = filters,
             .length = 130,
             .kernel = kernel,
             .attributes = Pads(kernel / 2, 1) + "strides=[2]"});
    }
  }
  Check({.group_in = 1, .group_out = 64, .length = 400, .kernel = 10, .attributes = "strides=[5]"});
}

TEST_CASE("HostLines, RandomOnesEqualTheReference", "[host]") {
  const uint32_t seed = 20311;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 120; ++i) {
    const bool depthwise = i % 3 == 0;
    const int kernel = upto(9) + 1, dilation = upto(3);
    Check({.batch = upto(3),
           .groups = depthwise ? upto(70) + 1 : i % 3,
           .group_in = depthwise ? 1 : upto(9) + 1,
           .group_out = depthwise ? 1 : upto(9),
           .length = upto(60) + dilation * kernel,
           .kernel = kernel,
           .attributes = Pads(upto(4) - 1, upto(4) - 1) + "strides=[" + std::to_string(upto(3)) + "] dilations=[" +
                         std::to_string(dilation) + "]"});
  }
}

}  // namespace pt::testing::host_lines_test
