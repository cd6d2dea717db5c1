// Experts of a mixture by the chosen alone, against all experts by the reference library: matrices of few bits and of
// float32, what lies between the layers, and choices of every kind.
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <string>

#include "partitiontuner/graph/experts.h"
#include "test/backend/host_kernels_lab.h"

namespace pt::testing::host_experts_test {
namespace {

std::string Size(int64_t n) { return std::to_string(n); }

// What makes "i" of "u".
constexpr std::string_view kRelu = "i = Relu(u)\n", kGelu = "i = Gelu(u) approximate=\"tanh\"\n";
constexpr std::string_view kSilu = "s = Sigmoid(u)\ni = Mul(u, s)\n";
constexpr std::string_view kSwiGlu =
    "const c0 int64[1] ints 0\nconst c1 int64[1] ints 1\nconst cn int64[1] ints 1000000\nconst ca int64[1] ints -1\n"
    "const c2 int64[1] ints 2\nconst most float32[] value 1.5\nconst least float32[] value -1.5\n"
    "const alpha float32[] value 1.7\nconst one float32[] value 1\n"
    "g = Slice(u, c0, cn, ca, c2)\nl = Slice(u, c1, cn, ca, c2)\nh = Clip(g, _, most)\nm = Clip(l, least, most)\n"
    "n = Mul(alpha, h)\no = Sigmoid(n)\nq = Add(m, one)\nt = Mul(h, o)\ni = Mul(t, q)\n";

struct Case {
  int64_t tokens = 1, experts = 4, chosen = 2, depth = 32, inner = 16, columns = 24;
  std::string type = "float32";
  int64_t block = 32;
  bool bias = true, zero_points = true;
  std::string_view middle = kRelu;
  bool routed = true;  // by a softmax; else choices and shares are inputs

  int64_t wide() const { return middle == kSwiGlu ? 2 * inner : inner; }
};

std::string Matrices(const Case& c, const std::string& name, int64_t depth, int64_t columns) {
  const std::string e = Size(c.experts), d = Size(depth), n = Size(columns);
  if (c.type == "float32") return "const w" + name + " float32[" + e + "," + d + "," + n + "] random 1\n";
  const std::string blocks = "[" + e + "," + n + "," + Size((depth + c.block - 1) / c.block) + "]";
  std::string text = "const q" + name + " " + c.type + "[" + e + "," + n + "," + d + "] whole 1\nconst s" + name +
                     " float32" + blocks + " random 2\n";
  if (c.zero_points) text += "const z" + name + " " + c.type + blocks + " whole 3\n";
  return text + "d" + name + " = DequantizeLinear(q" + name + ", s" + name + (c.zero_points ? ", z" + name : "") +
         ") axis=2 block_size=" + Size(c.block) + "\nw" + name + " = Transpose(d" + name + ") perm=[0,2,1]\n";
}

std::string Product(const Case& c, const std::string& from, const std::string& matrix, const std::string& to,
                    int64_t columns) {
  if (!c.bias) return to + " = MatMul(" + from + ", w" + matrix + ")\n";
  return "const b" + matrix + " float32[" + Size(c.experts) + ",1," + Size(columns) + "] random 5\n" + to +
         "0 = MatMul(" + from + ", w" + matrix + ")\n" + to + " = Add(" + to + "0, b" + matrix + ")\n";
}

std::string Text(const Case& c) {
  const std::string t = Size(c.tokens), e = Size(c.experts), k = Size(c.chosen);
  std::string text = "input x float32[1," + t + "," + Size(c.depth) + "]\n";
  if (c.routed) {
    text += "input r float32[" + t + "," + e + "]\nconst k int64[1] ints " + k +
            "\np = Softmax(r) axis=1\nshare, index = TopK(p, k) axis=1\n";
  } else {
    text += "input index int64[" + t + "," + k + "]\ninput share float32[" + t + "," + k + "]\n";
  }
  text += "const none float32[" + t + "," + e + "] zeros\nconst zero float32[] zeros\nconst two int64[1] ints 2\n" +
          std::string("const first int64[1] ints 0\n") +
          "all = ScatterElements(none, index, share) axis=1\nturned = Transpose(all) perm=[1,0]\n"
          "weight = Unsqueeze(turned, two)\n" +
          Matrices(c, "u", c.depth, c.wide()) + Matrices(c, "d", c.inner, c.columns) +
          Product(c, "x", "u", "u", c.wide()) + std::string(c.middle) + Product(c, "i", "d", "d", c.columns);
  return text +
         "counted = Mul(d, weight)\nunchosen = Equal(weight, zero)\nkept = Where(unchosen, zero, counted)\n"
         "y = ReduceSum(kept, first) keepdims=0\noutput y\n";
}

std::vector<NodeId> ExpertNodes(const Graph& graph) {
  const auto experts = FindExperts(graph, NodeId(graph.nodes().size() - 1));
  REQUIRE(experts.has_value());
  return experts->nodes;
}

void Check(const Case& c) {
  const std::string text = Text(c);
  INFO(text);
  const Graph graph = TypedText(text);
  CheckGroup(graph, ExpertNodes(graph), SeededInputs(graph), 3e-5);
}

TEST_CASE("HostExperts, EveryTypeAndNumberOfTokensEqualsTheReference", "[host]") {
  for (const char* type : {"float32", "uint4", "int4", "uint8", "int8", "uint2"}) {
    for (const int64_t tokens : {1, 3, 5, 40}) {
      for (const bool bias : {false, true}) Check({.tokens = tokens, .type = type, .bias = bias, .zero_points = bias});
    }
  }
}

TEST_CASE("HostExperts, WhateverLiesBetweenTheLayersEqualsTheReference", "[host]") {
  for (const std::string_view middle : {kRelu, kGelu, kSilu, kSwiGlu}) {
    for (const char* type : {"float32", "uint4"}) {
      for (const int64_t tokens : {1, 9}) Check({.tokens = tokens, .type = type, .middle = middle});
    }
  }
}

TEST_CASE("HostExperts, SizesAroundVectorsAndChunksEqualTheReference", "[host]") {
  for (const int64_t inner : {2, 15, 17, 130, 300}) {
    for (const int64_t columns : {1, 16, 31, 129, 260}) {
      Check({.tokens = 2, .experts = 3, .chosen = 1, .depth = 10, .inner = inner, .columns = columns});
      Check({.tokens = 6, .experts = 3, .chosen = 3, .depth = 10, .inner = inner, .columns = columns});
    }
  }
  for (const int64_t block : {16, 32, 64}) {
    Check({.tokens = 2, .depth = 96, .inner = 64, .columns = 40, .type = "uint4", .block = block});
  }
  Check({.tokens = 100, .experts = 16, .chosen = 4, .depth = 64, .inner = 80, .columns = 64, .middle = kSwiGlu});
}

TEST_CASE("HostExperts, ChoicesThatRepeatCountFromTheBackOrForNothingEqualTheReference", "[host]") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Case c{.tokens = 4, .experts = 4, .chosen = 3, .routed = false};
  const Graph graph = TypedText(Text(c));
  const std::vector<Tensor> seeded = SeededInputs(graph);
  const std::vector<Tensor> inputs = {seeded[0], Tensor::Int64({4, 3}, {1, 1, 2, -1, 3, 0, 0, 1, 2, -4, -3, 0}),
                                      Tensor::Float32({4, 3}, {0.5F, 0.25F, 1, 0.5F, 2, -1, 0, 0, 0, kNan, 0.125F, 0})};
  CheckGroup(graph, ExpertNodes(graph), inputs, 3e-5);
}

TEST_CASE("HostExperts, AnIndexThatNoExpertHasIsAnError", "[host]") {
  const Graph graph = TypedText(Text({.tokens = 2, .routed = false}));
  const Platform platform = MakeTestPlatform(1, false);
  const std::unique_ptr<Library> host = HostLibrary();
  const std::vector<Candidate> ways = host->CandidatesFor(graph, platform, ExpertNodes(graph), Precision());
  REQUIRE(!ways.empty());
  for (const int64_t index : {4, -5}) {
    const std::vector<Tensor> inputs = {SeededInputs(graph)[0], Tensor::Int64({2, 2}, {0, 1, 2, index}),
                                        Tensor::Float32({2, 2}, {1, 1, 1, 1})};
    std::vector<Tensor> given;
    for (const ValueId id : GroupInputs(graph, ways[0].nodes)) {
      const auto at = std::ranges::find(graph.inputs(), id) - graph.inputs().begin();
      given.push_back(inputs[static_cast<size_t>(at)]);
    }
    const auto results = RunCandidate(graph, platform, *host, ways[0], given, 1);
    REQUIRE(!results.ok());
    CHECK(results.error().code == ErrorCode::kInvalidInput);
  }
}

TEST_CASE("HostExperts, WhatAnotherNodeReadsOrCountsOtherwiseIsNoSuchGroup", "[host]") {
  const auto found = [](std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    INFO(text);
    const Graph graph = TypedText(text);
    for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
      if (FindExperts(graph, NodeId(n))) return true;
    }
    return false;
  };
  const std::string text = Text({.tokens = 3, .middle = kSilu});
  CHECK(found(text, "output y\n", "output y\n"));
  CHECK(!found(text, "output y\n", "output y\noutput i\n"));
  CHECK(!found(text, "output y\n", "extra = Relu(u)\noutput y\noutput extra\n"));
  CHECK(!found(text, "kept = Where(unchosen, zero, counted)", "kept = Where(unchosen, counted, zero)"));
  CHECK(!found(text, "axis=1\nturned", "axis=1 reduction=\"add\"\nturned"));
  CHECK(!found(text, "i = Mul(u, s)", "i = Softmax(s)"));
  CHECK(!found(text, "keepdims=0", "keepdims=1"));
  CHECK(!found(text, "const none float32[3,4] zeros", "const none float32[3,4] ones"));
}

}  // namespace
}  // namespace pt::testing::host_experts_test
