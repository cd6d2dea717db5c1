#include "partitiontuner/candidate/group_graph.h"

#include <unordered_map>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt {
namespace {

Error GroupError(std::string message) { return MakeError(ErrorCode::kInvalidInput, "group.nodes", std::move(message)); }

Status CheckGroup(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.empty()) return GroupError("a group without nodes");
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].valid() || nodes[i].index() >= graph.nodes().size()) {
      return GroupError("the graph has no node #" + std::to_string(nodes[i].value) + ", but " +
                        std::to_string(graph.nodes().size()) + " nodes");
    }
    if (i > 0 && nodes[i - 1] >= nodes[i]) {
      return GroupError("the nodes of a group ascend; #" + std::to_string(nodes[i].value) + " stands behind #" +
                        std::to_string(nodes[i - 1].value));
    }
  }
  if (!IsConvex(graph, nodes)) {
    return GroupError("a path leaves the group of " + NodeLabel(graph, nodes.front()) + " to " +
                      NodeLabel(graph, nodes.back()) + " and comes back: its other nodes belong to it");
  }
  if (GroupOutputs(graph, nodes).empty()) {
    return GroupError("nothing needs what the group of " + NodeLabel(graph, nodes.front()) + " makes");
  }
  return {};
}

}  // namespace

Result<Graph> GroupGraph(const Graph& graph, std::span<const NodeId> nodes) {
  PT_CHECK_OK(CheckGroup(graph, nodes));
  GraphBuilder builder;
  builder.set_name(graph.name());
  builder.set_opset(graph.opset());
  for (const auto& [domain, version] : graph.domains()) builder.set_domain(domain, version);
  std::unordered_map<ValueId, ValueId> moved;
  for (const ValueId id : GroupInputs(graph, nodes)) {
    moved[id] = builder.AddInput(graph.value(id).name, graph.value(id).type);
  }
  const auto move = [&](ValueId& id) {
    if (!id.valid()) return;
    const auto [at, is_new] = moved.emplace(id, ValueId());
    if (is_new) {
      const Value& value = graph.value(id);
      at->second = value.is_constant() ? builder.AddConstant(value.name, *value.constant)
                                       : builder.AddValue(value.name, value.type);
    }
    id = at->second;
  };
  for (const NodeId id : nodes) {
    Node node = graph.node(id);
    for (ValueId& input : node.inputs) move(input);
    for (ValueId& output : node.outputs) move(output);
    builder.AddNode(std::move(node));
  }
  for (const ValueId id : GroupOutputs(graph, nodes)) builder.AddOutput(moved.at(id));
  return builder.Build();
}

}  // namespace pt
