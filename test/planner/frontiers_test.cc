// Hand-worked frontiers: where stretches end, and which values cross.
#include "lib/planner/search/frontiers.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/graph/graph_text.h"
#include "test/testing/planning_world.h"
#include "test/testing/random_world.h"

namespace pt::frontiers_test {
namespace {

using testing::MakeWorld;
using testing::World;

// "a b | c" for each frontier: names of the nodes' outputs before it, then of the live values.
std::vector<std::string> FrontiersOf(const World& world, uint32_t nodes) {
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  const std::vector<Frontier> frontiers = FindFrontiers(space, nodes);
  const std::vector<std::span<const NodeId>> stretches = Stretches(space, frontiers);
  REQUIRE(stretches.size() == frontiers.size() + 1);
  std::vector<std::string> texts;
  for (size_t f = 0; f < frontiers.size(); ++f) {
    std::string text;
    for (NodeId node : stretches[f]) text += space.graph().value(space.graph().node(node).outputs[0]).name + " ";
    text += "|";
    for (ValueId live : frontiers[f].live) text += " " + space.graph().value(live).name;
    texts.push_back(text);
  }
  return texts;
}

World SingleNodes(const std::string& text) {
  return MakeWorld(ParseGraph(text).value(), {.fused = false, .accelerator = false});
}

TEST_CASE("FindFrontiers, TakesTheFewestValuesWithinReach", "[planner]") {
  const World world = SingleNodes(
      "input x float32[2,8,4,4]\n"
      "a = Tanh(x) : float32[2,8,4,4]\nb = Tanh(a) : float32[2,8,4,4]\nc = Tanh(a) : float32[2,8,4,4]\n"
      "d = Add(b, c) : float32[2,8,4,4]\ne = Tanh(d) : float32[2,8,4,4]\nf = Tanh(e) : float32[2,8,4,4]\noutput f\n");
  CHECK(FrontiersOf(world, 4) == std::vector<std::string>{"a b c d | d"});
  CHECK(FrontiersOf(world, 3) == std::vector<std::string>{"a b c | b c"});
  CHECK(FrontiersOf(world, 6).empty());
}

TEST_CASE("FindFrontiers, ValuesThatPassByAreLive", "[planner]") {
  const World world = SingleNodes(
      "input x float32[2,8,4,4]\n"
      "a = Tanh(x) : float32[2,8,4,4]\nb = Tanh(a) : float32[2,8,4,4]\nc = Tanh(b) : float32[2,8,4,4]\n"
      "d = Tanh(c) : float32[2,8,4,4]\ne = Add(d, a) : float32[2,8,4,4]\noutput e\n");
  CHECK(FrontiersOf(world, 2) == std::vector<std::string>{"a b | a b", "c d | a d"});
}

TEST_CASE("FindFrontiers, GroupsDoNotReachAcross", "[planner]") {
  const World world = MakeWorld(testing::Chain(5), {.accelerator = false});  // Conv, Relu, Conv, Relu, Conv
  const PlanningProblem problem = world.problem();
  const Space space = Space::Make(problem).value();
  const std::vector<Frontier> frontiers = FindFrontiers(space, 3);
  REQUIRE(frontiers.size() == 1);
  CHECK(frontiers.front().behind == 1);
}

TEST_CASE("FindFrontiers, LiveValuesAreMadeBeforeAndReadBehind", "[planner]") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const World world = testing::RandomWorld(seed, 60, testing::MachineKind::kQueue);
    const PlanningProblem problem = world.problem();
    const Space space = Space::Make(problem).value();
    INFO("seed " << seed);
    for (const Frontier& frontier : FindFrontiers(space, 8)) {
      std::vector<ValueId> live;
      for (size_t v = 0; v < world.graph.values().size(); ++v) {
        const ValueSlots& value = space.value(ValueId(v));
        if (!value.producer.valid() || space.position(value.producer) > frontier.behind) continue;
        const bool read = std::ranges::any_of(value.consumers,
                                              [&](NodeId reader) { return space.position(reader) > frontier.behind; });
        if (read) live.emplace_back(v);
      }
      CHECK(live == frontier.live);
      CHECK(live.size() <= kMostLiveValues);
    }
  }
}

}  // namespace
}  // namespace pt::frontiers_test
