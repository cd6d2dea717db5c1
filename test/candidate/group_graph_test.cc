#include "partitiontuner/candidate/group_graph.h"

#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/graph/graph_text.h"

namespace pt::group_graph_test {
namespace {

// A diamond whose sides read one weight, and a node that nobody needs.
Graph Diamond() {
  auto graph = ParseGraph(
      "opset 25\ninput x float32[2]\nconst w float32[2] ones\n"
      "a = Relu(x) : float32[2]\n"
      "b = Mul(a, w) : float32[2]\n"
      "c = Add(a, w) : float32[2]\n"
      "d = Sub(b, c) : float32[2]\n"
      "e = Neg(x) : float32[2]\n"
      "output d\noutput b\n");
  REQUIRE(graph.ok());
  return std::move(*graph);
}

std::vector<NodeId> Ids(const std::vector<uint32_t>& numbers) { return {numbers.begin(), numbers.end()}; }

std::string Names(const Graph& graph, std::span<const ValueId> ids) {
  std::string text;
  for (const ValueId id : ids) text += (text.empty() ? "" : " ") + graph.value(id).name;
  return text;
}

TEST_CASE("GroupGraph, BorderIsThatOfTheGroup", "[candidate]") {
  const Graph graph = Diamond();
  const auto group = GroupGraph(graph, Ids({1, 2, 3}));
  REQUIRE(group.ok());
  CHECK(Names(*group, group->inputs()) == "a");
  CHECK(Names(*group, group->outputs()) == "b d");
  CHECK(group->nodes().size() == 3);
  CHECK(group->opset() == 25);
  const Value& w = group->value(group->nodes()[0].inputs[1]);
  REQUIRE(w.is_constant());
  CHECK(w.uses.size() == 2);
  CHECK(group->value(group->inputs()[0]).type == StaticType(DataType::kFloat32, {2}));
  const std::vector<NodeId> all = Ids({0, 1, 2});
  CHECK(GroupInputs(*group, all).size() == 1);
  CHECK(GroupOutputs(*group, all).size() == 2);
}

TEST_CASE("GroupGraph, WhatIsNoGroupIsRefused", "[candidate]") {
  const Graph graph = Diamond();
  const auto fault = [&](const std::vector<NodeId>& nodes) {
    const auto group = GroupGraph(graph, nodes);
    REQUIRE(!group.ok());
    CHECK(group.error().code == ErrorCode::kInvalidInput);
    return group.error().message;
  };
  CHECK(fault({}).find("without nodes") != std::string::npos);
  CHECK(fault(Ids({7})).find("no node #7") != std::string::npos);
  CHECK(fault({NodeId()}).find("no node") != std::string::npos);
  CHECK(fault(Ids({2, 1})).find("#1 stands behind #2") != std::string::npos);
  CHECK(fault(Ids({1, 1})).find("ascend") != std::string::npos);
  CHECK(fault(Ids({0, 1, 3})).find("comes back") != std::string::npos);
  CHECK(fault(Ids({4})).find("nothing needs") != std::string::npos);
}

}  // namespace
}  // namespace pt::group_graph_test
