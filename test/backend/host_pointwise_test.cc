// Pointwise convolutions of the host library, products of channels-last pixels, against the reference library: sizes
// around the vectors' and the tiles', strides, what is computed behind them, and what must be refused.
#include <limits>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_pointwise_test {
namespace {

struct Case {
  int batch = 1, channels = 6, rows = 5, columns = 7, filters = 9;
  std::string attributes = "", rest = "", bias = ", b";
};

std::string Size(int n) { return std::to_string(n); }

std::string Text(const Case& c) {
  return "input x float32[" + Size(c.batch) + "," + Size(c.channels) + "," + Size(c.rows) + "," + Size(c.columns) +
         "]\nconst w float32[" + Size(c.filters) + "," + Size(c.channels) + ",1,1] random 1\nconst b float32[" +
         Size(c.filters) + "] random 2\n" + (c.rest.empty() ? "y" : "m") + " = Conv(x, w" + c.bias + ") " +
         c.attributes + "\n" + c.rest + "output y\n";
}

void Check(const Case& c, double tolerance = 1e-5) { CheckText(Text(c), tolerance); }

std::vector<Candidate> Candidates(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) nodes.emplace_back(n);
  return HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), nodes, Precision());
}

TEST_CASE("HostPointwise, EverySizeAroundVectorsAndTilesEqualsTheReference", "[host]") {
  for (int n = 1; n <= 36; ++n) {
    Check({.channels = n});
    Check({.columns = n});
    Check({.filters = n});
    Check({.filters = n, .rest = "y = Relu(m)\n"});
  }
  for (const int filters : {63, 64, 65, 96, 100}) Check({.filters = filters});
}

TEST_CASE("HostPointwise, RandomSizesEqualTheReference", "[host]") {
  const uint32_t seed = 20263;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint32_t most) { return static_cast<int>(random() % most) + 1; };
  for (int i = 0; i < 30; ++i) {
    const std::string attributes = "strides=[" + Size(upto(3)) + "," + Size(upto(3)) + "]";
    Check(
        {
            .batch = upto(3),
            .channels = upto(100),
            .rows = upto(30),
            .columns = upto(30),
            .filters = upto(150),
            .attributes = attributes,
            .bias = i % 2 == 0 ? ", b" : "",
        },
        3e-5);
  }
}

TEST_CASE("HostPointwise, LargeSizesEqualTheReference", "[host]") {
  Check({.channels = 700, .rows = 9, .columns = 9, .filters = 300}, 1e-4);
  Check({.channels = 300, .rows = 9, .columns = 9, .filters = 1100, .rest = "r = Relu(m)\ny = Add(r, r)\n"}, 1e-4);
}

TEST_CASE("HostPointwise, StridesSkipPixels", "[host]") {
  for (const char* attributes :
       {"strides=[2,2]", "strides=[1,2]", "strides=[3,1]", "strides=[9,9]", "strides=[2,2] auto_pad=\"SAME_UPPER\"",
        "strides=[2,2] auto_pad=\"VALID\"", "dilations=[2,2]"}) {
    for (const int columns : {1, 2, 7, 8}) {
      Check({.batch = 2, .columns = columns, .attributes = attributes});
      Check({.columns = columns, .attributes = attributes, .rest = "y = Tanh(m)\n"});
    }
  }
}

TEST_CASE("HostPointwise, BatchesOfAnySizeEqualTheReference", "[host]") {
  for (const int batch : {0, 1, 2, 5}) Check({.batch = batch, .rest = "y = Relu(m)\n"});
}

TEST_CASE("HostPointwise, WhatIsComputedBehindEqualsTheReference", "[host]") {
  for (const auto& [filters, columns] : std::vector<std::pair<int, int>>{{9, 7}, {33, 40}, {200, 11}}) {
    const std::string shape = "[2," + Size(filters) + ",5," + Size(columns) + "]";
    const auto check = [&](const std::string& rest) {
      Check({.batch = 2, .columns = columns, .filters = filters, .rest = rest});
    };
    const std::string r = "input r float32" + shape + "\n";
    check("y = Relu(m)\n");
    check("const l float32[] value -0.2\nconst h float32[] value 0.3\ny = Clip(m, l, h)\n");
    check("const l float32[] value 0.1\ny = Clip(m, l)\n");
    check(r + "y = Add(m, r)\n");
    check(r + "y = Sub(r, m)\n");
    check(r + "a = Relu(m)\ny = Add(r, a)\n");
    check(r + "a = Add(r, m)\ny = Relu(a)\n");
    check("s = Sigmoid(m)\ny = Mul(s, m)\n");
    check("y = HardSwish(m)\n");
    // Operands of other shapes stretch as ONNX says: along the last dims, which lie outside the pixels.
    check("input r float32[2," + Size(filters) + ",1,1]\ny = Mul(m, r)\n");
    check("input r float32[5," + Size(columns) + "]\ny = Mul(m, r)\n");
    check("input r float32[" + Size(columns) + "]\ny = Mul(r, m)\n");
    check("input r float32[" + Size(filters) + ",1,1]\ny = Mul(r, m)\n");
    check("const k float32[" + Size(filters) + ",1,1] random 5\ny = PRelu(m, k)\n");
    check("const k float32[" + shape.substr(1) + " random 5\ny = Add(k, m)\n");
    check("input r float32[1,1,5,1]\ny = Add(m, r)\n");
  }
}

// Of as many columns as filters: a row of constants added behind runs along the columns, it is no bias.
TEST_CASE("HostPointwise, ARowAddedBehindIsNoBias", "[host]") {
  for (const char* bias : {", b", ""}) {
    Check({.columns = 9, .rest = "const k float32[9] random 3\ny = Add(m, k)\n", .bias = bias});
    Check({.columns = 9, .rest = "const k float32[1,1,1,9] random 3\ny = Add(k, m)\n", .bias = bias});
  }
}

TEST_CASE("HostPointwise, BoundsKeepWhatIsNotANumber", "[host]") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  for (const int filters : {3, 16, 40}) {
    for (const char* rest : {"y = Relu(m)\n",
                             "const l float32[] value -1\nconst h float32[] value 1\n"
                             "y = Clip(m, l, h)\n"}) {
      const Graph graph = TypedText(Text({.channels = 1, .rows = 1, .columns = 11, .filters = filters, .rest = rest}));
      std::vector<float> values(11, 0.5F);
      values[1] = kNan;
      values[4] = kInfinity;
      values[9] = -kInfinity;
      CheckAgainstReference(graph, {Tensor::Float32({1, 1, 1, 11}, values)}, 1e-5);
    }
  }
}

// The result may lie on the residual, not on the pixels that other parts of the product still read.
TEST_CASE("HostPointwise, LiesOnAResidualButNotOnItsInput", "[host]") {
  const auto aliases = [](const std::string& rest) {
    const auto candidates = Candidates(TypedText(Text({.channels = 9, .rest = rest})));
    REQUIRE(!candidates.empty());
    return candidates[0].aliases.size();
  };
  CHECK(aliases("input r float32[1,9,5,7]\ny = Add(m, r)\n") == 1);
  CHECK(aliases("y = Add(m, x)\n") == 0);
  Check({.channels = 9, .rest = "y = Add(m, x)\n"});
}

TEST_CASE("HostPointwise, OfferedChannelsLastWithWhatStandsBehind", "[host]") {
  const Graph graph = TypedText(Text({.rest = "input r float32[1,9,5,7]\na = Add(m, r)\ny = Relu(a)\n"}));
  std::vector<size_t> sizes;
  for (const Candidate& candidate : HostLibrary()->Candidates(graph, MakeTestPlatform(1, false), Precision())) {
    if (candidate.nodes[0].index() != 0) continue;
    sizes.push_back(candidate.nodes.size());
    for (const auto* forms : {&candidate.in, &candidate.out}) {
      for (const Form& form : *forms) CHECK(form.layout == ChannelsLast(4));
    }
  }
  std::ranges::sort(sizes);
  CHECK(sizes == std::vector<size_t>{1, 2, 3});
}

TEST_CASE("HostPointwise, WhatIsNoSuchConvolutionIsNotOffered", "[host]") {
  const auto count = [](const std::string& text) { return Candidates(TypedText(text)).size(); };
  const std::string x = "input x float32[1,4,6,6]\n", y = "output y\n";
  REQUIRE(count(x + "const w float32[3,4,1,1] random 1\ny = Conv(x, w)\n" + y) > 0);
  CHECK(count(x + "const w float32[3,4,1,1] random 1\ny = Conv(x, w) pads=[1,1,1,1]\n" + y) == 0);
  CHECK(count(x + "const w float32[3,4,1,1] random 1\ny = Conv(x, w) pads=[0,0,1,1]\n" + y) == 0);
  CHECK(count(x + "const w float32[13,4,1,2] random 1\ny = Conv(x, w)\n" + y) == 0);
  CHECK(count(x + "input w float32[3,4,1,1]\ny = Conv(x, w)\n" + y) == 0);
  CHECK(count(x + "const w float32[3,4,1,1] random 1\ninput b float32[3]\ny = Conv(x, w, b)\n" + y) == 0);
  CHECK(count("input x float32[1,4,6]\nconst w float32[3,4,1] random 1\ny = Conv(x, w)\n" + y) == 0);
  CHECK(count("input x float64[1,4,6,6]\nconst w float64[3,4,1,1] random 1\ny = Conv(x, w)\n" + y) == 0);
  // The result between is needed, too.
  CHECK(count(x + "const w float32[3,4,1,1] random 1\nm = Conv(x, w)\ny = Relu(m)\noutput m\n" + y) == 0);
  // Two of one input are no group.
  CHECK(count(x + "const w float32[3,4,1,1] random 1\ny = Conv(x, w)\nz = Conv(x, w)\noutput z\n" + y) == 0);
}

}  // namespace
}  // namespace pt::testing::host_pointwise_test
