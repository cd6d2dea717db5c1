#include "lib/engine/candidate_filters.h"

#include <catch2/catch_test_macros.hpp>

namespace pt::candidate_filters_test {
namespace {

Candidate One(std::string library, size_t node, Elision elision = Elision::kNone, size_t unit_class = 0,
              MathMode math = MathMode::kFp32) {
  Candidate candidate;
  candidate.nodes = {NodeId(node)};
  candidate.unit_class = UnitClassId(unit_class);
  candidate.library = std::move(library);
  candidate.math = math;
  candidate.elision = elision;
  return candidate;
}

// "library node" of each, in their order.
std::vector<std::string> Left(std::vector<Candidate> candidates) {
  DropNeedlessReference(candidates);
  std::vector<std::string> left;
  for (const Candidate& c : candidates) left.push_back(c.library + " " + std::to_string(c.nodes[0].index()));
  return left;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("NeedlessCandidates, ReferenceGoesWhereAnotherRunsTheNodeOnTheSameUnitsInTheSameMath", "[engine]") {
  CHECK(Left({One("reference", 0), One("fast", 0)}) == Names{"fast 0"});
  CHECK(Left({One("reference", 0), One("fast", 1)}) == Names{"reference 0", "fast 1"});
  CHECK(Left({One("reference", 0), One("fast", 0, Elision::kNone, 1)}) == Names{"reference 0", "fast 0"});
  CHECK(Left({One("reference", 0), One("fast", 0, Elision::kNone, 0, MathMode::kBf16)}) ==
        Names{"reference 0", "fast 0"});
}

TEST_CASE("NeedlessCandidates, GroupsOfOthersServeNoSingleNode", "[engine]") {
  Candidate group = One("fast", 0);
  group.nodes.emplace_back(size_t{1});
  CHECK(Left({One("reference", 0), group}) == Names{"reference 0", "fast 0"});
}

// A runtime that copies for each Reshape would take the place of views, which cost nothing.
TEST_CASE("NeedlessCandidates, ViewsStayUnlessAnotherHasViewsToo", "[engine]") {
  CHECK(Left({One("reference", 0, Elision::kViewOfInput), One("runtime", 0)}) == Names{"reference 0", "runtime 0"});
  CHECK(Left({One("reference", 0, Elision::kViewOfInput), One("fast", 0, Elision::kViewOfInput)}) == Names{"fast 0"});
  CHECK(Left({One("reference", 0, Elision::kSlicesOfOutput), One("runtime", 0)}) == Names{"reference 0", "runtime 0"});
}

}  // namespace pt::candidate_filters_test
