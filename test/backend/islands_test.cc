// Which groups are offered where whole groups are one call.
#include "partitiontuner/backend/islands.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/support/random.h"
#include "test/testing/rounds.h"

namespace pt::islands_test {
namespace {

using Groups = std::vector<std::vector<NodeId>>;

std::vector<NodeId> Ids(const std::vector<uint32_t>& numbers) { return {numbers.begin(), numbers.end()}; }

std::vector<bool> AllBut(const Graph& graph, const std::string& op) {
  std::vector<bool> taken;
  for (const Node& node : graph.nodes()) taken.push_back(node.op != op);
  return taken;
}

TEST_CASE("Islands, MaximalOnesAndChainsEndAtWhatIsNotTaken", "[backend]") {
  // 0 and 1 in a row, a node that is not taken, and two that read both sides of it.
  const auto graph = ParseGraph(
      "input x float32[2]\n"
      "a = Relu(x) : float32[2]\nb = Exp(a) : float32[2]\nn = Other(b) : float32[2]\n"
      "c = Neg(n) : float32[2]\nd = Add(c, a) : float32[2]\noutput d\n");
  REQUIRE(graph.ok());
  CHECK(IslandGroups(*graph, AllBut(*graph, "Other")) == Groups{Ids({0, 1}), Ids({3, 4})});
  // With all of them: one whole, and what is behind the value that is read twice.
  CHECK(IslandGroups(*graph, AllBut(*graph, "")) == Groups{Ids({0, 1, 2, 3, 4}), Ids({1, 2, 3, 4})});
}

TEST_CASE("Islands, StretchesLieBetweenValuesThroughWhichAllGoes", "[backend]") {
  // Two diamonds, one behind the other, and a tail.
  const auto graph = ParseGraph(
      "input x float32[2]\n"
      "a = Relu(x) : float32[2]\nb = Exp(a) : float32[2]\nc = Neg(a) : float32[2]\nd = Add(b, c) : float32[2]\n"
      "e = Exp(d) : float32[2]\nf = Neg(d) : float32[2]\ng = Add(e, f) : float32[2]\n"
      "h = Neg(g) : float32[2]\noutput h\n");
  REQUIRE(graph.ok());
  const Groups groups = IslandGroups(*graph, AllBut(*graph, ""));
  const auto has = [&](const std::vector<uint32_t>& nodes) { return std::ranges::count(groups, Ids(nodes)) == 1; };
  CHECK(has({0, 1, 2, 3, 4, 5, 6, 7}));
  CHECK(has({1, 2, 3}));     // between a and d
  CHECK(has({4, 5, 6}));     // between d and g
  CHECK(has({0, 1, 2, 3}));  // two in a row
  CHECK(has({4, 5, 6, 7}));
}

TEST_CASE("Islands, OfRandomGraphsAreConvexAndBounded", "[backend]") {
  const ValueType type = StaticType(DataType::kFloat32, {2});
  for (uint64_t seed = 1; seed <= testing::Rounds(200); ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    GraphBuilder builder;
    std::vector<ValueId> values = {builder.AddInput("x", type)};
    std::vector<bool> taken;
    for (uint64_t i = 0; i < 2 + random.Below(60); ++i) {
      std::vector<ValueId> inputs;
      for (uint64_t k = 0; k < 1 + random.Below(3); ++k) {
        const uint64_t back = 1 + random.Below(std::min<uint64_t>(values.size(), 6));
        inputs.push_back(values[values.size() - back]);
      }
      values.push_back(builder.AddOp("Sum", inputs, type));
      taken.push_back(random.Below(4) != 0);
    }
    builder.AddOutput(values.back());
    const auto graph = builder.Build();
    REQUIRE(graph.ok());
    const Groups groups = IslandGroups(*graph, taken);
    size_t nodes = 0;
    for (const auto& group : groups) {
      CHECK(group.size() > 1);
      CHECK(std::ranges::is_sorted(group));
      CHECK(IsConvex(*graph, group));
      CHECK(std::ranges::all_of(group, [&](NodeId id) { return taken[id.index()]; }));
      CHECK(std::ranges::count(groups, group) == 1);
      nodes += group.size();
    }
    CHECK(nodes <= 8 * taken.size());
  }
}

}  // namespace
}  // namespace pt::islands_test
