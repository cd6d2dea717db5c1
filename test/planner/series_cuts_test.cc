// Hand-worked cuts: what hides one and what does not.
#include "lib/planner/proofs/series_cuts.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/graph_text.h"
#include "test/testing/planning_world.h"

namespace pt::series_cuts_test {
namespace {

using testing::MakeWorld;
using testing::World;

// By node in the graph's order; -1: left out.
std::vector<int> SegmentsOf(const std::string& text, const std::vector<size_t>& left_out = {}, bool fused = false) {
  const World world = MakeWorld(ParseGraph(text).value(), {.fused = fused, .accelerator = false});
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  std::vector<bool> out(world.graph.nodes().size(), false);
  for (size_t node : left_out) out[node] = true;
  std::vector<int> segments;
  for (uint32_t segment : FindSegments(space, out).of_node) segments.push_back(static_cast<int>(segment));
  return segments;
}

TEST_CASE("FindSegments, ResultsThatPassByHideNoCut", "[planner]") {
  // d reads a, past b and c.
  CHECK(SegmentsOf("input x float32[2,8,4,4]\n"
                   "a = Tanh(x) : float32[2,8,4,4]\nb = Tanh(a) : float32[2,8,4,4]\nc = Tanh(b) : float32[2,8,4,4]\n"
                   "d = Add(c, a) : float32[2,8,4,4]\noutput d\n") == std::vector{0, 1, 2, 3});
}

TEST_CASE("FindSegments, BranchesShareOneSegment", "[planner]") {
  CHECK(SegmentsOf("input x float32[2,8,4,4]\n"
                   "a = Tanh(x) : float32[2,8,4,4]\nb = Tanh(a) : float32[2,8,4,4]\nc = Tanh(a) : float32[2,8,4,4]\n"
                   "d = Add(b, c) : float32[2,8,4,4]\ne = Tanh(d) : float32[2,8,4,4]\noutput e\n") ==
        std::vector{0, 1, 1, 1, 2});
}

TEST_CASE("FindSegments, SideNodesHideCutsUntilTheyAreLeftOut", "[planner]") {
  // m is a mask that the last node reads; it may run at any time before.
  const std::string text =
      "input x float32[2,8,4,4]\ninput y float32[2,8,4,4]\nm = Tanh(y) : float32[2,8,4,4]\n"
      "a = Tanh(x) : float32[2,8,4,4]\nb = Tanh(a) : float32[2,8,4,4]\nc = Add(b, m) : float32[2,8,4,4]\noutput c\n";
  CHECK(SegmentsOf(text) == std::vector{0, 0, 0, 0});
  CHECK(SegmentsOf(text, {0}) == std::vector{-1, 0, 1, 2});
}

TEST_CASE("FindSegments, GroupsDoNotReachAcrossCuts", "[planner]") {
  const World world = MakeWorld(testing::Chain(5), {.accelerator = false});  // Conv, Relu, Conv, Relu, Conv
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  CHECK(FindSegments(space, std::vector<bool>(5, false)).of_node == std::vector<uint32_t>{0, 0, 1, 1, 2});
}

}  // namespace
}  // namespace pt::series_cuts_test
