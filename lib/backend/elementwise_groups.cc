#include "partitiontuner/backend/elementwise_groups.h"

#include <algorithm>
#include <set>

#include "partitiontuner/graph/linear_quantisation.h"

namespace pt {
namespace {

constexpr size_t kMostNodes = 12;
// From each node on, this many sizes beside the largest: what a library with fused convolutions leaves over.
constexpr size_t kSteps = 3;

using Nodes = std::set<NodeId>;

class Growth {
 public:
  Growth(const Graph& graph, const std::vector<bool>& able, NodeId start)
      : graph_(graph), able_(able), result_(graph.node(start).outputs[0]), nodes_{start} {}

  const Nodes& nodes() const { return nodes_; }

  // Adds the reader of the result, and what is computed for the group alone; with several readers, all of them up to
  // where they meet again in one result. False, with the nodes as they were, where that is not possible.
  bool Grow() {
    const Nodes before = nodes_;
    const ValueId result = result_;
    do {
      const NodeId next = EndsQuantised(result_) ? NodeId() : NextReader();
      if (!next.valid() || !Fits(next) || nodes_.size() >= kMostNodes) {
        nodes_ = before;
        result_ = result;
        return false;
      }
      nodes_.insert(next);
      Absorb(next);
    } while (!HasOneResult());
    return nodes_.size() <= kMostNodes;
  }

 private:
  // A quantised stretch ends where its result is an 8-bit integer again: what lies beyond is another group. Each node
  // of long stretches would else begin groups with several of them.
  bool EndsQuantised(ValueId value) const { return IsByte(graph_.value(value).type.type); }
  bool IsReadOutside(ValueId value) const { return !ReadWithin(value, nodes_); }

  // The first node outside that reads a value of the group: those it reads itself then come before or lie outside.
  NodeId NextReader() const {
    NodeId first;
    for (NodeId node : nodes_) {
      const Value& made = graph_.value(graph_.node(node).outputs[0]);
      if (made.is_graph_output) return NodeId();
      for (const Use& use : made.uses) {
        if (!nodes_.contains(use.node) && (!first.valid() || use.node < first)) first = use.node;
      }
    }
    return first;
  }

  // Whether the last node makes the only value that is needed outside.
  bool HasOneResult() {
    const NodeId last = *nodes_.rbegin();
    for (NodeId node : nodes_) {
      if (node != last && IsReadOutside(graph_.node(node).outputs[0])) return false;
    }
    result_ = graph_.node(last).outputs[0];
    return true;
  }

  bool Fits(NodeId node) const {
    const Node& candidate = graph_.node(node);
    return able_[node.index()] && graph_.value(candidate.outputs[0]).type.dims == graph_.value(result_).type.dims;
  }
  bool ReadWithin(ValueId value, const Nodes& nodes) const {
    const Value& v = graph_.value(value);
    return !v.is_graph_output &&
           std::all_of(v.uses.begin(), v.uses.end(), [&](const Use& use) { return nodes.contains(use.node); });
  }
  // Values inside are read inside alone, so the group stays convex.
  void Absorb(NodeId reader) {
    for (ValueId input : graph_.node(reader).inputs) {
      if (!input.valid()) continue;
      const NodeId producer = graph_.value(input).producer;
      if (!producer.valid() || nodes_.contains(producer) || EndsQuantised(input)) continue;
      if (!Fits(producer) || !ReadWithin(input, nodes_)) continue;
      if (nodes_.size() >= kMostNodes) return;
      nodes_.insert(producer);
      Absorb(producer);
    }
  }

  const Graph& graph_;
  const std::vector<bool>& able_;
  ValueId result_;
  Nodes nodes_;
};

}  // namespace

std::vector<std::vector<NodeId>> ElementwiseGroups(const Graph& graph, const std::vector<bool>& able) {
  std::vector<std::vector<NodeId>> groups;
  std::set<Nodes> seen;
  const auto offer = [&](const Nodes& nodes) {
    if (nodes.size() > 1 && seen.insert(nodes).second) groups.emplace_back(nodes.begin(), nodes.end());
  };
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (!able[n]) continue;
    Growth growth(graph, able, NodeId(n));
    Nodes largest;
    for (size_t step = 0; growth.Grow(); ++step) {
      largest = growth.nodes();
      if (step < kSteps) offer(largest);
    }
    offer(largest);
  }
  return groups;
}

std::vector<std::vector<NodeId>> GrowElementwise(const Graph& graph, const std::vector<bool>& able, NodeId start) {
  std::vector<std::vector<NodeId>> groups;
  Growth growth(graph, able, start);
  while (growth.Grow()) groups.emplace_back(growth.nodes().begin(), growth.nodes().end());
  return groups;
}

}  // namespace pt
