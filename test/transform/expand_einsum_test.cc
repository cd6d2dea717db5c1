// Einsum spelled out in sums, transpositions and products: right for any equation, and left alone where it stands for
// something else.
#include <set>

#include "test/transform/passes_lab.h"

namespace pt::testing::expand_einsum_test {
namespace {

std::string Dims(const std::string& labels, const std::vector<int64_t>& sizes) {
  std::string text;
  for (const char label : labels) {
    text += (text.empty() ? "" : ",") + std::to_string(sizes[static_cast<size_t>(label - 'a')]);
  }
  return "[" + text + "]";
}

// An equation drawn at random: up to four terms of up to four labels, of which the result keeps some.
std::string DrawEinsum(std::mt19937& random) {
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  std::vector<int64_t> sizes;
  for (int label = 0; label < 6; ++label) sizes.push_back(draw(1, 4));
  const auto draw_labels = [&](std::string from, int64_t count) {
    std::shuffle(from.begin(), from.end(), random);
    return from.substr(0, static_cast<size_t>(count));
  };
  std::string text, equation, arguments, all;
  for (int64_t term = 0, terms = draw(1, 4); term < terms; ++term) {
    const std::string labels = draw_labels("abcdef", draw(0, 4)), name = "x" + std::to_string(term);
    // Of one sign, so that no sum cancels.
    text += "input i" + name + " float32" + Dims(labels, sizes) + "\n" + name + " = Abs(i" + name + ")\n";
    equation += (term == 0 ? "" : ", ") + labels;
    arguments += (term == 0 ? "" : ", ") + name;
    all += labels;
  }
  const std::set<char> known(all.begin(), all.end());
  const std::string labels(known.begin(), known.end());
  if (draw(0, 4) > 0) equation += " -> " + draw_labels(labels, draw(0, static_cast<int64_t>(labels.size())));
  return text + "y = Einsum(" + arguments + ") equation=\"" + equation + "\"\noutput y\n";
}

bool HasEinsum(const Ops& ops) { return std::ranges::find(ops, "Einsum") != ops.end(); }

TEST_CASE("ExpandEinsum, AnyEquationComputesTheSame", "[transform]") {
  const uint32_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 400; ++round) {
    const std::string text = DrawEinsum(random);
    INFO(text);
    CHECK_FALSE(HasEinsum(OperatorsAfter(text)));
  }
}

TEST_CASE("ExpandEinsum, ContractionsAreOneProduct", "[transform]") {
  CHECK(OperatorsAfter(
            "input x float32[3,4]\ninput w float32[4,5]\ny = Einsum(x, w) equation=\"ik,kj->ij\"\noutput y\n") ==
        Ops{"MatMul"});
  CHECK(OperatorsAfter("input x float32[2,3,4]\ninput w float32[2,4,5]\ny = Einsum(x, w) equation=\"bik,bkj->bij\"\n"
                       "output y\n") == Ops{"MatMul"});
  CHECK(
      OperatorsAfter("input x float32[2,3]\ninput w float32[3]\ny = Einsum(x, w) equation=\"ij,j->ij\"\noutput y\n") ==
      Ops{"Reshape", "Mul"});
  CHECK(OperatorsAfter("input x float32[2,3]\ny = Einsum(x) equation=\"ij->ji\"\noutput y\n") == Ops{"Transpose"});
  CHECK(OperatorsAfter("input x float32[2,3]\ny = Einsum(x) equation=\"ij->i\"\noutput y\n") == Ops{"ReduceSum"});
}

TEST_CASE("ExpandEinsum, DotsAreDimsLikeOthers", "[transform]") {
  CHECK(OperatorsAfter("input x float32[2,3,4]\ninput w float32[4,5]\ny = Einsum(x, w) equation=\"...k,kj->...j\"\n"
                       "output y\n") == Ops{"Reshape", "MatMul", "Reshape"});
  CHECK_FALSE(HasEinsum(OperatorsAfter(
      "input x float32[2,3,4]\ninput w float32[2,3,4]\ny = Einsum(x, w) equation=\"...k,...k\"\noutput y\n")));
}

TEST_CASE("ExpandEinsum, WhatStandsForSomethingElseIsLeftAlone", "[transform]") {
  for (const char* text :
       {"input x float32[3,3]\ny = Einsum(x) equation=\"ii->i\"\noutput y\n",
        "input x float32[2,3,4]\ninput w float32[1,4]\ny = Einsum(x, w) equation=\"...k,...k->...\"\noutput y\n",
        "input x int32[3,4]\ninput w int32[4,5]\ny = Einsum(x, w) equation=\"ik,kj->ij\"\noutput y\n",
        "input x float64[3,4]\ninput w float64[4,5]\ny = Einsum(x, w) equation=\"ik,kj->ij\"\noutput y\n"}) {
    INFO(text);
    CHECK(Operators(Simplify(Parsed(text), Context()).value()) == Ops{"Einsum"});
  }
}

}  // namespace
}  // namespace pt::testing::expand_einsum_test
