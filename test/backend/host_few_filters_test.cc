// Convolutions of few filters of the host library against the reference library: filters around the blocks', widths
// around the vectors', kernels, strides, dilations and pads, edges and bounds.
#include <limits>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_few_filters_test {
namespace {

struct Case {
  int batch = 1, channels = 3, rows = 6, columns = 9, filters = 2, kernel_rows = 3, kernel_columns = 3;
  std::string attributes = "pads=[1,1,1,1]", rest = "", bias = ", b", weights = "random 1";
};

std::string Size(int n) { return std::to_string(n); }

std::string Text(const Case& c) {
  return "input x float32[" + Size(c.batch) + "," + Size(c.channels) + "," + Size(c.rows) + "," + Size(c.columns) +
         "]\nconst w float32[" + Size(c.filters) + "," + Size(c.channels) + "," + Size(c.kernel_rows) + "," +
         Size(c.kernel_columns) + "] " + c.weights + "\nconst b float32[" + Size(c.filters) + "] random 2\n" +
         (c.rest.empty() ? "y" : "m") + " = Conv(x, w" + c.bias + ") " + c.attributes + "\n" + c.rest + "output y\n";
}

void Check(const Case& c, double tolerance = 1e-5) { CheckText(Text(c), tolerance); }

std::vector<Candidate> Candidates(const std::string& text) {
  const Graph graph = TypedText(text);
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  return HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), nodes, Precision());
}

TEST_CASE("HostFewFilters, EverySizeAroundVectorsAndBlocksEqualsTheReference", "[host]") {
  for (int n = 1; n <= 12; ++n) Check({.columns = 70, .filters = n});
  for (const int filters : {1, 2, 4, 8}) {
    for (int n = 1; n <= 130; n += n < 36 ? 1 : 7) Check({.columns = n, .filters = filters});
  }
  for (int n = 1; n <= 20; ++n) {
    Check({.rows = n});
    Check({.channels = n});
  }
}

TEST_CASE("HostFewFilters, MoreFiltersOnOneChannelEqualTheReference", "[host]") {
  for (const int filters : {13, 31, 36, 63, 64}) Check({.channels = 1, .columns = 70, .filters = filters});
  Check({.channels = 1,
         .rows = 1,
         .columns = 4000,
         .filters = 36,
         .kernel_rows = 1,
         .kernel_columns = 256,
         .attributes = "strides=[1,256]"},
        3e-5);
}

TEST_CASE("HostFewFilters, EveryKernelStrideAndDilationEqualsTheReference", "[host]") {
  for (const auto& [rows, columns] :
       std::vector<std::pair<int, int>>{{1, 2}, {2, 1}, {1, 39}, {5, 5}, {7, 3}, {4, 6}}) {
    const std::string pads =
        "pads=[" + Size(rows / 2) + "," + Size(columns / 2) + "," + Size(rows / 2) + "," + Size(columns / 2) + "] ";
    for (const char* more : {"strides=[1,1]", "strides=[2,2]", "strides=[3,1]", "strides=[1,3]", "strides=[2,7]",
                             "dilations=[2,2]", "dilations=[1,3]", "strides=[2,2] dilations=[1,2]",
                             "strides=[1,2] dilations=[3,4]", "strides=[1,4] dilations=[1,4]"}) {
      Check({.channels = 2,
             .rows = 17,
             .columns = 181,
             .filters = 3,
             .kernel_rows = rows,
             .kernel_columns = columns,
             .attributes = pads + more});
    }
  }
}

TEST_CASE("HostFewFilters, UnevenLargeAndMissingPadsEqualTheReference", "[host]") {
  for (const char* attributes :
       {"", "pads=[0,1,2,0]", "pads=[2,0,0,2]", "pads=[5,6,7,8]", "pads=[0,30,0,30]", "auto_pad=\"SAME_UPPER\"",
        "auto_pad=\"SAME_LOWER\" strides=[2,2]", "auto_pad=\"VALID\" strides=[2,3]"}) {
    Check({.attributes = attributes});
    Check({.columns = 21, .attributes = attributes, .rest = "y = Relu(m)\n"});
  }
}

TEST_CASE("HostFewFilters, ImagesOfSeveralPartsEqualTheReference", "[host]") {
  Check(
      {.rows = 2, .columns = 5000, .filters = 1, .kernel_rows = 1, .kernel_columns = 64, .attributes = "strides=[1,2]"},
      3e-5);
  Check({.rows = 3, .columns = 2100}, 3e-5);
  Check({.channels = 40, .rows = 50, .columns = 60, .filters = 1}, 3e-5);
  Check({.batch = 3, .channels = 4, .rows = 90, .columns = 33, .filters = 9});
}

TEST_CASE("HostFewFilters, RandomCasesEqualTheReference", "[host]") {
  const uint32_t seed = 20264;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 60; ++i) {
    const int kernel_rows = upto(6), kernel_columns = upto(9) + (kernel_rows == 1 ? 1 : 0);
    const auto pad = [&](int kernel) { return Size(upto(static_cast<uint32_t>(kernel)) - 1); };
    const std::string attributes = "strides=[" + Size(upto(3)) + "," + Size(upto(4)) + "] pads=[" + pad(kernel_rows) +
                                   "," + pad(kernel_columns) + "," + pad(kernel_rows) + "," + pad(kernel_columns) + "]";
    Check({.batch = upto(2),
           .channels = upto(9),
           .rows = kernel_rows + upto(20),
           .columns = kernel_columns + upto(90),
           .filters = upto(12),
           .kernel_rows = kernel_rows,
           .kernel_columns = kernel_columns,
           .attributes = attributes,
           .bias = i % 2 == 0 ? ", b" : ""},
          3e-5);
  }
}

TEST_CASE("HostFewFilters, BoundsEqualTheReferenceAndKeepWhatIsNotANumber", "[host]") {
  const std::string clip = "const l float32[] value -0.2\nconst h float32[] value 0.3\ny = Clip(m, l, h)\n";
  for (const int filters : {1, 3, 12}) {
    for (const std::string& rest : {std::string("y = Relu(m)\n"), clip}) {
      Check({.columns = 40, .filters = filters, .rest = rest});
      const Graph graph = TypedText(Text({.channels = 1, .columns = 40, .filters = filters, .rest = rest}));
      std::vector<float> x(240, 0.5F);
      x[0] = x[77] = std::numeric_limits<float>::quiet_NaN();
      x[50] = std::numeric_limits<float>::infinity();
      x[239] = -x[50];
      CheckAgainstReference(graph, {Tensor::Float32({1, 1, 6, 40}, x)}, 1e-5);
    }
  }
}

TEST_CASE("HostFewFilters, OfferedRowMajorWithTheActivationBehind", "[host]") {
  const Graph graph = TypedText(Text({.rest = "y = Relu(m)\n"}));
  std::vector<size_t> sizes;
  for (const Candidate& candidate : HostLibrary()->Candidates(graph, MakeTestPlatform(1, false), Precision())) {
    if (candidate.nodes[0].index() != 0) continue;
    sizes.push_back(candidate.nodes.size());
    CHECK(candidate.in[0].layout.is_row_major());
    CHECK(candidate.out[0].layout.is_row_major());
  }
  std::ranges::sort(sizes);
  CHECK(sizes == std::vector<size_t>{1, 2});
}

TEST_CASE("HostFewFilters, WhatIsNoSuchConvolutionIsNotOffered", "[host]") {
  REQUIRE(!Candidates(Text({})).empty());
  CHECK(Candidates(Text({.filters = 13})).empty());
  CHECK(!Candidates(Text({.channels = 1, .filters = 13})).empty());
  CHECK(Candidates(Text({.channels = 1, .filters = 65})).empty());
  CHECK(Candidates(Text({.batch = 0})).empty());
  CHECK(Candidates(Text({.channels = 4000, .columns = 200})).empty());
  CHECK(Candidates(Text({.rest = "y = Tanh(m)\n"})).empty());
  CHECK(Candidates(Text({.rest = "y = Relu(m)\noutput m\n"})).empty());
  const std::string x = "input x float32[1,4,6,6]\n", y = "output y\n";
  CHECK(Candidates(x + "input w float32[2,4,3,3]\ny = Conv(x, w)\n" + y).empty());
  CHECK(Candidates(x + "const w float32[2,4,3,3] random 1\ninput b float32[2]\ny = Conv(x, w, b)\n" + y).empty());
  CHECK(Candidates("input x float32[1,4,9,9,9]\nconst w float32[2,4,3,3,3] random 1\ny = Conv(x, w)\n" + y).empty());
  CHECK(Candidates("input x float64[1,4,6,6]\nconst w float64[2,4,3,3] random 1\ny = Conv(x, w)\n" + y).empty());
  // Pads are multiplied, too, and must stay zeros. 1e39 is infinite in float32.
  CHECK(Candidates(Text({.weights = "value 1e39"})).empty());
  // One window, as far to the next as no memory is large.
  CHECK(Candidates(Text({.kernel_rows = 6, .kernel_columns = 9, .attributes = "strides=[1,4611686018427387904]"}))
            .empty());
}

}  // namespace
}  // namespace pt::testing::host_few_filters_test
