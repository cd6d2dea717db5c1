// Products of the caller's matrices keep the dims that these have.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "test/transform/passes_lab.h"

namespace pt::testing::keep_batches_test {
namespace {

// Attention on caches of keys and values whose batches and heads are merged, as exporters write it.
std::string AttentionOn(const std::string& keys, const std::string& values, const std::string& rest) {
  return "input q float32[2,3,5,8]\n" + rest +
         "const merged int64[3] ints 6 -1 8\nconst parted int64[4] ints 2 3 5 8\nconst scores int64[4] ints 2 3 5 7\n"
         "const flat int64[3] ints 6 5 7\ninput m float32[2,1,1,7]\n"
         "q3 = Reshape(q, merged)\nk3 = Reshape(" +
         keys + ", merged)\nv3 = Reshape(" + values +
         ", merged)\nkt = Transpose(k3) perm=[0,2,1]\ns = MatMul(q3, kt)\ns4 = Reshape(s, scores)\n"
         "a4 = Add(s4, m)\na = Reshape(a4, flat)\np = Softmax(a) axis=-1\n"
         "o3 = MatMul(p, v3)\no = Reshape(o3, parted)\noutput o\n";
}

// What the Reshapes that are left read.
std::vector<std::string> Reshaped(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.op == "Reshape") names.push_back(graph.value(node.inputs[0]).name);
  }
  return names;
}

TEST_CASE("KeepBatches, CachesThatAreGivenAreReadAsTheyLie", "[transform]") {
  const std::string text = AttentionOn("k", "v", "input k float32[2,3,7,8]\ninput v float32[2,3,7,8]\n");
  const Graph after = Simplified(Parsed(text));
  CHECK(Reshaped(after).empty());
}

TEST_CASE("KeepBatches, CachesThatAreGivenOutAreReadAsTheyLie", "[transform]") {
  const std::string text = AttentionOn("k", "v",
                                       "input pk float32[2,3,6,8]\ninput nk float32[2,3,1,8]\n"
                                       "input pv float32[2,3,6,8]\ninput nv float32[2,3,1,8]\n"
                                       "k = Concat(pk, nk) axis=2\nv = Concat(pv, nv) axis=2\n") +
                           "output k\noutput v\n";
  const Graph after = Simplified(Parsed(text));
  CHECK(Reshaped(after).empty());
}

TEST_CASE("KeepBatches, WhatIsRepeatedOrNotTheCallersStays", "[transform]") {
  const auto rank_of = [&](const std::string& a, const std::string& b, const std::string& product) {
    const Graph after = Simplified(Parsed("const d int64[3] ints 6 4 5\ninput a float32" + a + "\ninput b float32" + b +
                                          "\nx = Exp(a)\n" + product + "output y\n"));
    size_t rank = 0;
    for (const Node& node : after.nodes()) {
      if (node.op == "MatMul") rank = after.value(node.outputs[0]).type.dims.size();
    }
    return rank;
  };
  const std::string view = "r = Reshape(b, d)\n";
  CHECK(rank_of("[6,3,4]", "[2,3,4,5]", view + "y = MatMul(x, r)\n") == 4);
  CHECK(rank_of("[6,5,3]", "[2,3,4,5]", view + "y = MatMul(r, x)\n") == 4);
  CHECK(rank_of("[6,3,5]", "[2,3,4,5]", view + "t = Transpose(r) perm=[0,2,1]\ny = MatMul(x, t)\n") == 4);
  // One matrix for all; a view of what a step makes; last dims that change; an operand that is the caller's as it is.
  CHECK(rank_of("[1,3,4]", "[2,3,4,5]", view + "y = MatMul(x, r)\n") == 3);
  CHECK(rank_of("[6,3,4]", "[2,3,4,5]", "e = Exp(b)\nr = Reshape(e, d)\ny = MatMul(x, r)\n") == 3);
  CHECK(rank_of("[6,3,4]", "[2,3,20,1]", view + "y = MatMul(x, r)\n") == 3);
  CHECK(rank_of("[6,3,4]", "[2,3,4,5]", view + "y = MatMul(a, r)\noutput x\n") == 3);
}

}  // namespace
}  // namespace pt::testing::keep_batches_test
