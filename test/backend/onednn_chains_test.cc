// Long chains of elementwise operators.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/test_machine.h"

namespace pt::testing::onednn_chains_test {
namespace {

Graph ChainOf(size_t nodes) {
  std::string text = "input v0 float32[1,4]\n";
  for (size_t i = 1; i <= nodes; ++i)
    text += "v" + std::to_string(i) + (i % 2 == 0 ? " = Tanh(v" : " = Abs(v") + std::to_string(i - 1) + ")\n";
  return InferShapes(ParseGraph(text + "output v" + std::to_string(nodes) + "\n").value()).value();
}

std::set<std::vector<NodeId>> GroupsOf(const Graph& graph) {
  const Platform platform = MakeTestPlatform(1, false);
  std::set<std::vector<NodeId>> groups;
  for (const Candidate& candidate : MakeOneDnnLibrary()->Candidates(graph, platform, Precision()))
    groups.insert(candidate.nodes);
  return groups;
}

// Every node and every group of up to ten in a row, as long as that is few.
TEST_CASE("OneDnn, ShortChainsAreGroupedInEveryWay", "[backend]") { CHECK(GroupsOf(ChainOf(9)).size() == 45); }

TEST_CASE("OneDnn, LongChainsMakeFewGroupsANodeThatStillCoverThem", "[backend]") {
  const size_t nodes = 1000;
  const std::set<std::vector<NodeId>> groups = GroupsOf(ChainOf(nodes));
  CHECK(groups.size() < 3 * nodes);
  std::vector<bool> alone(nodes), in_ten(nodes);
  for (const std::vector<NodeId>& group : groups) {
    for (NodeId node : group) {
      if (group.size() == 1) alone[node.index()] = true;
      if (group.size() == 10) in_ten[node.index()] = true;
    }
  }
  CHECK(std::ranges::all_of(alone, [](bool is) { return is; }));
  CHECK(std::ranges::all_of(in_ten, [](bool is) { return is; }));
}

}  // namespace
}  // namespace pt::testing::onednn_chains_test
