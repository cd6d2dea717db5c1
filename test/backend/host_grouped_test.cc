// Convolutions with several groups of few channels, of the host library against the reference library: channels of a
// group around the vectors', widths around the tiles', kernels that have a loop of their own and others, edges, bounds.
#include <limits>
#include <random>
#include <set>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_grouped_test {
namespace {

struct Case {
  int batch = 1, groups = 4, group_in = 4, group_out = 4, rows = 6, columns = 9, kernel_rows = 3, kernel_columns = 3;
  std::string attributes = "pads=[1,1,1,1]", rest = "", bias = ", b";
};

std::string Text(const Case& c) {
  const auto size = [](int n) { return std::to_string(n); };
  const std::string out = size(c.groups * c.group_out);
  return "input x float32[" + size(c.batch) + "," + size(c.groups * c.group_in) + "," + size(c.rows) + "," +
         size(c.columns) + "]\nconst w float32[" + out + "," + size(c.group_in) + "," + size(c.kernel_rows) + "," +
         size(c.kernel_columns) + "] random 1\nconst b float32[" + out + "] random 2\n" + (c.rest.empty() ? "y" : "m") +
         " = Conv(x, w" + c.bias + ") group=" + size(c.groups) + " " + c.attributes + "\n" + c.rest + "output y\n";
}

void Check(const Case& c) { CheckText(Text(c)); }

std::string Pads(int top, int left, int bottom, int right) {
  return "pads=[" + std::to_string(top) + "," + std::to_string(left) + "," + std::to_string(bottom) + "," +
         std::to_string(right) + "] ";
}

std::vector<NodeId> AllNodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  return nodes;
}

size_t CountCandidates(const std::string& text) {
  const Graph graph = TypedText(text);
  return HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), AllNodes(graph), Precision()).size();
}

// Whether it runs in blocks of channels, as wide as the processor's vectors, and right so.
bool RunsInBlocks(const Case& c) {
  INFO(Text(c));
  const Graph graph = TypedText(Text(c));
  const std::set<std::string> layouts = CheckGroup(graph, AllNodes(graph), SeededInputs(graph));
  CHECK(layouts.contains("acdb"));
  return layouts.contains("aBcd16b") || layouts.contains("aBcd8b");
}

TEST_CASE("HostGrouped, EveryNumberOfChannelsEqualsTheReference", "[host]") {
  for (int n = 1; n <= 64; ++n) {
    INFO(n << " channels a group");
    if (n > 1) Check({.groups = 3, .group_in = n, .group_out = n, .columns = 7});
    if (n < 20) Check({.groups = 5, .group_in = n, .group_out = n % 5 + 1 + (n == 1 ? 1 : 0), .columns = 7});
    if (n < 20) Check({.groups = 2, .group_in = n % 7 + 1, .group_out = n + 1, .columns = 7});
  }
}

TEST_CASE("HostGrouped, EveryNumberOfGroupsEqualsTheReference", "[host]") {
  for (int n = 2; n <= 34; ++n) {
    Check({.groups = n, .group_in = 4, .group_out = 4, .columns = 7});
    Check({.groups = n, .group_in = 1, .group_out = 2, .rows = 4, .columns = 5});
    Check({.groups = n, .group_in = 3, .group_out = 1, .rows = 4, .columns = 5});
  }
}

TEST_CASE("HostGrouped, EverySizeAroundTilesEqualsTheReference", "[host]") {
  for (const int channels : {4, 16}) {
    for (const char* strides : {" strides=[1,1]", " strides=[1,2]"}) {
      for (int n = 1; n <= 44; ++n) {
        Check({.groups = 4,
               .group_in = channels,
               .group_out = channels,
               .rows = 4,
               .columns = n,
               .attributes = Pads(1, 1, 1, 1) + strides});
      }
    }
    for (int n = 1; n <= 6; ++n) Check({.groups = 3, .group_in = channels, .group_out = channels, .rows = n});
  }
}

TEST_CASE("HostGrouped, EveryKernelAndStrideEqualsTheReference", "[host]") {
  for (const int kernel : {1, 2, 3, 5, 7}) {
    for (const char* more : {"strides=[1,1]", "strides=[2,2]", "strides=[3,1]", "strides=[1,3]", "dilations=[2,2]",
                             "strides=[2,2] dilations=[1,2]", "dilations=[3,1]", "strides=[4,5]"}) {
      for (const int channels : {4, 6, 16, 20}) {
        const int pad = kernel / 2;
        Check({.groups = 3,
               .group_in = channels,
               .group_out = channels,
               .rows = 19,
               .columns = 23,
               .kernel_rows = kernel,
               .kernel_columns = kernel,
               .attributes = Pads(pad, pad, pad, pad) + more});
      }
    }
  }
  Check({.kernel_rows = 1, .kernel_columns = 3, .attributes = Pads(0, 1, 0, 1)});
  Check({.kernel_rows = 5, .kernel_columns = 3, .attributes = Pads(2, 1, 2, 1)});
}

TEST_CASE("HostGrouped, UnevenAndMissingPadsEqualTheReference", "[host]") {
  for (const char* pads :
       {"pads=[0,0,0,0]", "pads=[0,1,2,3]", "pads=[2,0,0,2]", "auto_pad=\"SAME_UPPER\" strides=[2,2]",
        "auto_pad=\"SAME_LOWER\" strides=[2,2]", "auto_pad=\"VALID\""}) {
    for (const int channels : {4, 16}) {
      Check({.group_in = channels, .group_out = channels, .attributes = pads});
      Check({.batch = 3,
             .group_in = channels,
             .group_out = channels,
             .rows = 12,
             .columns = 10,
             .attributes = pads,
             .bias = ""});
    }
  }
  // Pads as wide as the image, and windows that see nothing but them.
  Check({.rows = 2, .columns = 2, .kernel_rows = 5, .kernel_columns = 5, .attributes = Pads(4, 4, 4, 4)});
  Check({.rows = 2, .columns = 2, .attributes = Pads(5, 5, 5, 5)});
  Check({.rows = 2, .columns = 1, .kernel_columns = 1, .attributes = Pads(5, 9, 5, 0)});
}

TEST_CASE("HostGrouped, TakesBlocksOfChannelsWhereNoVectorIsPartOfTwo", "[host]") {
  CHECK(RunsInBlocks({.groups = 4, .group_in = 4, .group_out = 4}));
  CHECK(RunsInBlocks({.groups = 8, .group_in = 4, .group_out = 2}));
  CHECK(RunsInBlocks({.groups = 2, .group_in = 32, .group_out = 48}));
  CHECK_FALSE(RunsInBlocks({.groups = 3, .group_in = 4, .group_out = 4}));
  CHECK_FALSE(RunsInBlocks({.groups = 4, .group_in = 4, .group_out = 2}));
  CHECK_FALSE(RunsInBlocks({.groups = 16, .group_in = 3, .group_out = 3}));
  CHECK_FALSE(RunsInBlocks({.groups = 2, .group_in = 24, .group_out = 24}));
  for (const int in : {1, 2, 4, 8, 16, 32}) {
    for (const int out : {1, 2, 4, 8, 16, 48}) {
      if (in * out > 1) CHECK(RunsInBlocks({.groups = 16, .group_in = in, .group_out = out, .rows = 4, .columns = 9}));
    }
  }
  CHECK(RunsInBlocks(
      {.batch = 2, .groups = 48, .group_in = 2, .group_out = 4, .attributes = Pads(1, 0, 2, 1) + "strides=[2,2]"}));
}

TEST_CASE("HostGrouped, RandomShapesEqualTheReference", "[host]") {
  const uint32_t seed = 20264;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<int>(random() % most) + 1; };
  const auto pad = [&] { return upto(4) - 1; };
  for (int i = 0; i < 80; ++i) {
    const int dilation = upto(2), group_in = upto(random() % 2 == 0 ? 64 : 9);
    const int group_out = random() % 2 == 0 ? group_in : upto(40);
    const int kernel_rows = upto(5), kernel_columns = random() % 2 == 0 ? 3 : upto(5);
    const std::string attributes = "strides=[" + std::to_string(upto(3)) + "," + std::to_string(upto(3)) +
                                   "] dilations=[" + std::to_string(dilation) + "," + std::to_string(dilation) + "]";
    Check({.batch = upto(3),
           .groups = upto(9) + 1,
           .group_in = group_in,
           .group_out = group_in * group_out == 1 ? 2 : group_out,
           .rows = upto(12) + dilation * kernel_rows,
           .columns = upto(30) + dilation * kernel_columns,
           .kernel_rows = kernel_rows,
           .kernel_columns = kernel_columns,
           .attributes = Pads(pad(), pad(), pad(), pad()) + attributes,
           .bias = random() % 2 == 0 ? "" : ", b"});
  }
}

TEST_CASE("HostGrouped, KeepsResultsWithinTheirActivation", "[host]") {
  const std::string bounds = "const lo float32[] value -0.25\nconst hi float32[] value 0.5\n";
  for (const char* rest : {"y = Relu(m)\n", "y = Clip(m, lo, hi)\n", "y = Clip(m, lo)\n", "y = Clip(m, _, hi)\n"}) {
    Check({.group_in = 5, .group_out = 5, .rest = bounds + rest});
    Check({.group_in = 18, .group_out = 18, .rest = bounds + rest});
  }
}

TEST_CASE("HostGrouped, NumbersThatAreNoneStayInTheirGroups", "[host]") {
  for (const int channels : {2, 5, 17}) {
    INFO(channels << " channels a group");
    const Graph graph = TypedText(
        Text({.groups = 5, .group_in = channels, .group_out = channels, .columns = 16, .rest = "y = Relu(m)\n"}));
    std::vector<float> x(static_cast<size_t>(5 * channels * 6 * 16), 1);
    x[20] = std::numeric_limits<float>::quiet_NaN();
    x[100] = std::numeric_limits<float>::infinity();
    x[x.size() - 7] = -std::numeric_limits<float>::infinity();
    CheckAgainstReference(graph, {Tensor::Float32({1, 5 * channels, 6, 16}, x)});
  }
}

TEST_CASE("HostGrouped, WhatItDoesNotComputeIsNotOffered", "[host]") {
  const auto one = [](const std::string& x, const std::string& w, const std::string& more) {
    return CountCandidates("input x float32" + x + "\n" + w + "\ny = Conv(x, w) " + more + "\noutput y\n");
  };
  CHECK(CountCandidates(Text({})) > 0);
  CHECK(CountCandidates(Text({.rest = "y = Relu(m)\n"})) > 0);
  CHECK(CountCandidates(Text({.rest = "y = Tanh(m)\n"})) == 0);
  CHECK(CountCandidates(Text({.rest = "y = Relu(m)\noutput m\n"})) == 0);
  CHECK(one("[1,8,5,5]", "const w float32[8,4,3,3] random 1", "group=2") > 0);
  CHECK(one("[1,8,5,5]", "const w float32[24,8,3,3] random 1", "group=1") == 0);
  CHECK(one("[1,130,5,5]", "const w float32[8,65,3,3] random 1", "group=2") == 0);
  CHECK(one("[1,8,5,5]", "const w float32[130,4,3,3] random 1", "group=2") == 0);
  CHECK(one("[1,8,5,5,5]", "const w float32[8,4,3,3,3] random 1", "group=2") == 0);
  CHECK(one("[1,8,5,5]", "input w float32[8,4,3,3]", "group=2") == 0);
  CHECK(one("[0,8,5,5]", "const w float32[8,4,3,3] random 1", "group=2") == 0);
  CHECK(one("[1,8,70,5]", "const w float32[8,4,65,3] random 1", "group=2") == 0);
  CHECK(one("[1,8,300,5]", "const w float32[8,4,3,3] random 1", "group=2 dilations=[128,1]") == 0);
  CHECK(one("[1,8,5,5]", "const w float32[8,4,3,3] value inf", "group=2") == 0);
  CHECK(one("[1,8,5,5]", "const w float32[8,4,3,3] value nan", "group=2") == 0);
}

}  // namespace
}  // namespace pt::testing::host_grouped_test
