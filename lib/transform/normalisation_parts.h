// What normalisations that are spelled out in nodes have in common: a mean over the trailing dims, constants of those
// dims behind it, and one node in place of many.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "lib/transform/edit.h"

namespace pt {

// The operator set whose GroupNormalization has a scale and a bias of each channel.
inline constexpr int64_t kGroupNormalizationSince = 21;

// The number that a constant of one float32 element holds.
std::optional<float> ScalarOf(const Graph& graph, ValueId value);
// The operand beside `one` in a node of two.
ValueId OtherOperand(const Node& node, ValueId one);

// The trailing dims, all known, of a value of that type which the ReduceMean takes the mean over and keeps; nothing
// when it does something else, or the type is not float32 of known rank.
std::optional<std::vector<int64_t>> TrailingDims(const Graph& graph, const Node& mean, const ValueType& type);
// A float32 constant whose dims are these, except for leading ones, and which has no more dims than `rank`.
bool HasTrailingDims(const Graph& graph, ValueId value, const std::vector<int64_t>& dims, size_t rank);
// That constant under these dims themselves; invalid: `fill` everywhere.
Tensor NormalisedParameter(const Graph& graph, ValueId value, const std::vector<int64_t>& dims, float fill);
// Whether a constant has one number for each index of the second of `rank` dims, or one for all.
bool IsByChannel(const Tensor& constant, size_t rank, size_t channels);

// Names `node` after the node `last`, gives it that one's results and the source of all, and puts it in their place.
template <typename Nodes>
void ReplaceNodes(GraphBuilder& builder, const Graph& graph, const Nodes& nodes, NodeId last, Node node) {
  node.name = graph.node(last).name;
  node.outputs = graph.node(last).outputs;
  for (const NodeId id : nodes) {
    const std::vector<Source>& source = graph.node(id).source;
    node.source.insert(node.source.end(), source.begin(), source.end());
    builder.RemoveNode(id);
  }
  builder.AddNode(std::move(node));
}

// Replaces what the matcher finds at each node (`At(NodeId)`, an optional match with its `nodes`), no node twice.
template <typename Matcher, typename Replace>
Result<std::optional<Graph>> ReplaceMatches(const Graph& graph, Matcher matcher, const Replace& replace) {
  GraphBuilder builder(graph);
  std::set<NodeId> replaced;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto match = matcher.At(NodeId(i));
    if (!match || std::ranges::any_of(match->nodes, [&](NodeId id) { return replaced.contains(id); })) continue;
    replace(builder, graph, *match);
    replaced.insert(match->nodes.begin(), match->nodes.end());
  }
  return BuildIfChanged(builder, !replaced.empty());
}

}  // namespace pt
