#include "lib/backend/onednn/fusion_group.h"

#include <algorithm>
#include <set>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/candidate/run_time_sizes.h"

namespace pt::onednn {
namespace {

constexpr size_t kMostNodes = 10;

bool Contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

void Insert(std::vector<NodeId>& nodes, NodeId node) {
  nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), node), node);
}

bool MadeInside(const Graph& graph, const FusionGroup& group, ValueId value) {
  return value.valid() && graph.value(value).producer.valid() && Contains(group.nodes, graph.value(value).producer);
}

std::optional<FusionGroup> ActivationGroup(const Graph& graph, ValueId main) {
  auto activation = FindActivation(graph, main, /*closed=*/false);
  if (!activation) return std::nullopt;
  return FusionGroup{std::move(activation->nodes), NodeId(), main, {std::move(activation->op)}, activation->result};
}

// The next larger group; nullopt where the result is needed elsewhere or nothing fitting follows.
// All values inside are used inside only, so a grown group is convex.
std::optional<FusionGroup> Grow(const Graph& graph, const FusionGroup& group) {
  const Value& result = graph.value(group.result);
  if (result.is_graph_output || result.uses.empty() || !MayGrow(graph, group)) return std::nullopt;
  if (auto activation = FindActivation(graph, group.result, /*closed=*/true)) {
    FusionGroup grown = group;
    for (NodeId node : activation->nodes) Insert(grown.nodes, node);
    Append(grown.ops, std::move(activation->op));
    grown.result = activation->result;
    return grown;
  }
  if (result.uses.size() != 1) return std::nullopt;
  const NodeId next = result.uses[0].node;
  auto ops = PointwiseOf(graph, graph.node(next), group.result);
  if (!ops) return std::nullopt;
  FusionGroup grown = group;
  for (Pointwise& op : *ops) {
    if (MadeInside(graph, group, op.operand.value)) return std::nullopt;
    Append(grown.ops, std::move(op));
  }
  Insert(grown.nodes, next);
  grown.result = graph.node(next).outputs[0];
  return grown;
}

// How many elementwise nodes stand before each in a row, each one's result read by the next alone.
std::vector<uint32_t> PlacesInChains(const Graph& graph) {
  std::vector<uint32_t> places(graph.nodes().size(), 0);
  for (size_t n = 0; n < places.size(); ++n) {
    const ValueId main = MainInput(graph, graph.nodes()[n]);
    if (!main.valid() || !graph.value(main).producer.valid() || graph.value(main).uses.size() != 1) continue;
    const NodeId producer = graph.value(main).producer;
    if (IsPointwiseOperator(graph.node(producer))) places[n] = places[producer.index()] + 1;
  }
  return places;
}

// A long chain of elementwise nodes would make kMostNodes groups a node, nearly all of them each other's shifted
// copies. Beyond the first kMostNodes places groups begin at every kMostNodes-th only: as many cover the chain.
bool StartsGroups(uint32_t place) { return place < kMostNodes || place % kMostNodes == 0; }

void GrowAll(const Graph& graph, FusionGroup group, std::set<std::vector<NodeId>>& seen,
             std::vector<FusionGroup>& groups) {
  std::optional<FusionGroup> next = std::move(group);
  while (next && next->nodes.size() <= kMostNodes && IsSizedBeforeRun(graph, next->nodes)) {
    if (seen.insert(next->nodes).second) groups.push_back(*next);
    next = Grow(graph, *next);
  }
}

}  // namespace

bool MayGrow(const Graph& graph, const FusionGroup& group) {
  if (!group.anchor.valid()) return true;
  const Family* family = FindFamily(graph.node(group.anchor));
  return family != nullptr && family->post_ops;
}

std::optional<FusionGroup> SingleGroup(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (const Family* family = FindFamily(node)) {
    if (family->why_not(graph, node)) return std::nullopt;
    const std::vector<ValueId> needed = GroupOutputs(graph, {&id, 1});
    return FusionGroup{{id}, id, ValueId(), {}, needed.empty() ? node.outputs[0] : needed[0]};
  }
  const ValueId main = MainInput(graph, node);
  if (!main.valid()) return std::nullopt;
  return FusionGroup{{id}, NodeId(), main, *PointwiseOf(graph, node, main), node.outputs[0]};
}

std::vector<FusionGroup> NaturalGroups(const Graph& graph) {
  std::vector<FusionGroup> groups;
  std::set<std::vector<NodeId>> seen;
  const std::vector<uint32_t> places = PlacesInChains(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (auto single = SingleGroup(graph, NodeId(i))) {
      if (StartsGroups(places[i])) {
        GrowAll(graph, std::move(*single), seen, groups);
      } else if (seen.insert(single->nodes).second) {
        groups.push_back(std::move(*single));
      }
    }
    for (ValueId output : graph.node(NodeId(i)).outputs) {
      if (!output.valid()) continue;
      if (auto activation = ActivationGroup(graph, output)) GrowAll(graph, std::move(*activation), seen, groups);
    }
  }
  for (ValueId input : graph.inputs()) {
    if (auto activation = ActivationGroup(graph, input)) GrowAll(graph, std::move(*activation), seen, groups);
  }
  return groups;
}

std::optional<FusionGroup> GroupOf(const Graph& graph, std::span<const NodeId> wanted) {
  std::vector<NodeId> nodes(wanted.begin(), wanted.end());
  std::sort(nodes.begin(), nodes.end());
  if (nodes.empty() || std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end()) return std::nullopt;
  auto grow_to = [&](std::optional<FusionGroup> group) -> std::optional<FusionGroup> {
    while (group && group->nodes.size() < nodes.size()) group = Grow(graph, *group);
    if (group && group->nodes == nodes && IsSizedBeforeRun(graph, nodes)) return group;
    return std::nullopt;
  };
  // Anything but the first operation is grown onto a start, and only the start may be an anchor.
  for (NodeId node : nodes) {
    if (auto group = grow_to(SingleGroup(graph, node))) return group;
    for (ValueId input : graph.node(node).inputs) {
      if (!input.valid() || graph.value(input).is_constant()) continue;
      if (auto group = grow_to(ActivationGroup(graph, input))) return group;
    }
  }
  return std::nullopt;
}

}  // namespace pt::onednn
