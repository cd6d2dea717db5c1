// Nodes among operators on images run on channels-last and blocked images too, and give what they give in row-major
// order: against the reference library, dense and on slices.

#include <catch2/catch_get_random_seed.hpp>
#include <random>

#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_arrangement_test {
namespace {

using Layouts = std::set<std::string>;

// The nodes behind a convolution that makes "c" with so many channels, as one group. Returns how results lie, "blocked"
// for blocks of any size.
Layouts CheckBehindConvolution(int64_t channels, const std::string& rest, double tolerance = 1e-5) {
  const std::string n = std::to_string(channels);
  const std::string text =
      "input x float32[2,3,5,7]\nconst k float32[" + n + ",3,1,1] random 9\nc = Conv(x, k)\n" + rest;
  INFO(text);
  const Graph graph = TypedText(text);
  std::vector<NodeId> nodes;
  for (uint32_t node = 1; node < graph.nodes().size(); ++node) nodes.emplace_back(node);
  Layouts layouts;
  for (const std::string& layout : CheckGroup(graph, nodes, SeededInputs(graph), tolerance)) {
    layouts.insert(layout.starts_with("aBcd") ? "blocked" : layout);
  }
  return layouts;
}

TEST_CASE("HostArrangement, ElementwiseNodesBetweenConvolutionsTakeTheirLayouts", "[host]") {
  const std::string nodes = "a = Sigmoid(c)\nb = Mul(a, c)\ny = Add(b, c)\noutput y\n";
  CHECK(CheckBehindConvolution(32, nodes) == Layouts{"abcd", "acdb", "blocked"});
  CHECK(CheckBehindConvolution(35, nodes) == Layouts{"abcd", "acdb"});
}

TEST_CASE("HostArrangement, WhateverBroadcastsToAnImageIsReadInItsOrder", "[host]") {
  const char* const others[] = {"float32[1,32,1,1]", "float32[32,1,1]",   "float32[2,32,5,7]", "float32[2,32,1,1]",
                                "float32[2,1,5,7]",  "float32[1,1,1,7]",  "float32[7]",        "float32[]",
                                "float32[1,1,5,1]",  "float32[1,32,5,1]", "float32[32,5,7]",   "float32[1]"};
  for (const char* dims : others) {
    for (const std::string& operand :
         {"input o " + std::string(dims) + "\n", "const o " + std::string(dims) + " random 4\n"}) {
      const Layouts layouts =
          CheckBehindConvolution(32, operand + "a = Mul(c, o)\nb = Relu(a)\ny = Sub(o, b)\noutput y\n");
      CHECK(layouts == Layouts{"abcd", "acdb", "blocked"});
    }
  }
}

TEST_CASE("HostArrangement, ResultsLargerThanTheirImagesBroadcastThem", "[host]") {
  CHECK(CheckBehindConvolution(1, "input o float32[2,48,5,7]\ny = Add(o, c)\noutput y\n").count("blocked") == 1);
  CHECK(CheckBehindConvolution(16, "input o float32[4,1,1,1,1]\ny = Add(o, c)\noutput y\n") ==
        Layouts{"abcde", "acdeb"});
}

// Blocks of an operand with fewer dims would be of another dim than the result's.
TEST_CASE("HostArrangement, ImagesOfFewerDimsLieInNoBlocks", "[host]") {
  const std::string text =
      "input x float32[2,3,48,7]\nconst k float32[32,3,1,1] random 9\nc = Conv(x, k)\ninput o float32[32,48,7]\n"
      "y = Add(c, o)\noutput y\n";
  const Graph graph = TypedText(text);
  CHECK(CheckGroup(graph, {NodeId(1U)}, SeededInputs(graph)) == Layouts{"abcd", "acdb"});
}

TEST_CASE("HostArrangement, NodesBetweenConvolutionsOfVolumesTakeTheirLayouts", "[host]") {
  const auto check = [](int64_t channels, const std::string& rest) {
    const std::string n = std::to_string(channels);
    const Graph graph =
        TypedText("input x float32[2,3,2,5,7]\nconst k float32[" + n + ",3,1,1,1] random 9\nc = Conv(x, k)\n" + rest);
    std::vector<NodeId> nodes;
    for (uint32_t node = 1; node < graph.nodes().size(); ++node) nodes.emplace_back(node);
    Layouts layouts;
    for (const std::string& layout : CheckGroup(graph, nodes, SeededInputs(graph))) {
      layouts.insert(layout.starts_with("aBcde") ? "blocked" : layout);
    }
    return layouts;
  };
  const std::string nodes = "a = Sigmoid(c)\nb = Mul(a, c)\ny = Add(b, c)\noutput y\n";
  CHECK(check(32, nodes) == Layouts{"abcde", "acdeb", "blocked"});
  CHECK(check(35, nodes) == Layouts{"abcde", "acdeb"});
  CHECK(check(32, "input o float32[2,32,1,1,1]\na = Mul(c, o)\ny = LeakyRelu(a)\noutput y\n") ==
        Layouts{"abcde", "acdeb", "blocked"});
  CHECK(check(12, "input o float32[2,5,2,5,7]\ny = Concat(c, o) axis=1\noutput y\n") == Layouts{"abcde", "acdeb"});
  CHECK(check(12, "const p int64[10] ints 0 1 2 3 0 0 2 1 0 1\ny = Pad(c, p)\noutput y\n") ==
        Layouts{"abcde", "acdeb"});
}

TEST_CASE("HostArrangement, OtherTypesTakeTheLayoutsToo", "[host]") {
  CHECK(CheckBehindConvolution(16, "const z float32[] value 0\na = Greater(c, z)\ny = Where(a, z, c)\noutput y\n")
            .count("blocked") == 1);
  CHECK(CheckBehindConvolution(16, "y = Cast(c) to=7\noutput y\n", 0).count("blocked") == 1);
}

TEST_CASE("HostArrangement, MovementBetweenConvolutionsIsChannelsLastToo", "[host]") {
  const std::string cases[] = {
      "input o float32[2,5,5,7]\ny = Concat(c, o) axis=1\noutput y\n",
      "input o float32[2,12,4,7]\ny = Concat(o, c, o) axis=2\noutput y\n",
      "y = Concat(c, c) axis=0\noutput y\n",
      "y, z = Split(c) axis=1 num_outputs=2\noutput y\noutput z\n",
      "y, z = Split(c) axis=-1 num_outputs=2\noutput y\noutput z\n",
      "const f int64[2] ints 1 -1\nconst t int64[2] ints 9 -6\nconst a int64[2] ints 1 3\nconst s int64[2] ints 3 -2\n"
      "y = Slice(c, f, t, a, s)\noutput y\n",
      "const p int64[8] ints 0 1 2 3 0 2 1 0\ny = Pad(c, p)\noutput y\n",
      "const p int64[8] ints 0 0 1 2 0 0 2 1\ny = Pad(c, p) mode=\"reflect\"\noutput y\n",
      "y = DepthToSpace(c) blocksize=2\noutput y\n",
      "y = DepthToSpace(c) blocksize=2 mode=\"CRD\"\noutput y\n",
      "const r int64[4] ints 1 2 1 2\ny = Tile(c, r)\noutput y\n",
      "const d int64[4] ints 2 12 5 7\ny = Expand(c, d)\noutput y\n",
      "y = Transpose(c) perm=[0,2,3,1]\noutput y\n",
  };
  for (const std::string& nodes : cases) CHECK(CheckBehindConvolution(12, nodes, 0) == Layouts{"abcd", "acdb"});
}

TEST_CASE("HostArrangement, JoinedChannelsAreSlicesInRowMajorOrderAlone", "[host]") {
  const Graph graph = TypedText(
      "input x float32[1,3,4,4]\nconst k float32[8,3,1,1] random 1\na = Conv(x, k)\nb = Relu(a)\ny = Concat(a, b) "
      "axis=1\noutput y\n");
  const NodeId concat(2U);
  const auto candidates = HostLibrary()->CandidatesFor(graph, MakeTestPlatform(2, false), {&concat, 1}, Precision());
  REQUIRE(candidates.size() == 4);
  for (const Candidate& candidate : candidates) {
    const bool row_major = candidate.out[0].layout.is_row_major();
    CHECK(candidate.elision == (row_major ? Elision::kSlicesOfOutput : Elision::kNone));
  }
}

// What the library offers in its second round, behind its own first.
std::set<std::string> SecondRound(const std::string& text) {
  const Graph graph = TypedText(text);
  const Platform platform = MakeTestPlatform(2, false);
  const std::unique_ptr<Library> host = HostLibrary();
  std::set<std::string> offered;
  for (const Candidate& candidate :
       host->AgnosticCandidates(graph, platform, host->Candidates(graph, platform, Precision()))) {
    CHECK(host->Describe(graph, platform, candidate).ok());
    std::string name;
    for (NodeId node : candidate.nodes) name += graph.node(node).op + " ";
    offered.insert(name + ToString(candidate.out[0].layout));
  }
  return offered;
}

// Depthwise convolutions are channels-last.
TEST_CASE("HostArrangement, LayoutsThatOthersMakeTravelDownAChain", "[host]") {
  CHECK(SecondRound("const p int64[8] ints 0 0 1 1 0 0 1 1\nconst k float32[16,1,1,1] random 1\n"
                    "input x float32[1,16,4,4]\na = Abs(x)\nb = Conv(a, k) group=16\nc = Pad(b, p)\nd = Exp(c)\n"
                    "e = Softmax(d)\nf = Neg(e)\noutput f\n") ==
        std::set<std::string>{"Abs acdb", "Pad acdb", "Exp acdb"});
}

TEST_CASE("HostArrangement, WithoutSuchLayoutsNothingIsOfferedTwice", "[host]") {
  CHECK(SecondRound("input x float32[2,16,4,4]\na = Sigmoid(x)\nb = Exp(a)\ny = Softmax(b)\noutput y\n").empty());
}

TEST_CASE("HostArrangement, RandomGroupsOfAnyDimsEqualTheReference", "[host]") {
  const uint32_t seed = Catch::getSeed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  for (int round = 0; round < 40; ++round) {
    const size_t channels = below(2) == 0 ? 16 * (1 + below(3)) : 1 + below(40);
    const size_t full[] = {2, channels, 5, 7};
    std::string rest, last = "c";
    for (size_t n = 0; n < 1 + below(4); ++n) {
      const std::string name = "o" + std::to_string(n), made = "v" + std::to_string(n);
      rest += below(2) == 0 ? "input " + name : "const " + name;
      const bool input = rest.compare(rest.rfind('\n') + 1, 5, "input") == 0;
      rest += " float32[";
      for (size_t d = below(4); d < 4; ++d) rest += std::to_string(below(2) == 0 ? 1 : full[d]) + (d < 3 ? "," : "]");
      rest += input ? "\n" : " random 5\n";
      const char* const ops[] = {"Mul", "Add", "Sub", "Max"};
      rest += made + " = " + ops[below(4)] + "(" + last + ", " + name + ")\n";
      last = made;
    }
    CheckBehindConvolution(static_cast<int64_t>(channels), rest + "output " + last + "\n");
  }
}

}  // namespace
}  // namespace pt::testing::host_arrangement_test
