// What several passes do to a graph under construction.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/uses.h"

namespace pt {

// Attributes of the default domain mean what ONNX says; other domains are left alone by every pass.
inline bool IsOp(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

// Operators that give the same elements in the same order under other dims: a chain of them is one Reshape.
bool IsReshaping(const Node& node);

// One input, one output of its dims and type, each element from the one at its place.
bool IsUnaryElementwise(const Node& node);

// Two inputs, one output; each element from those at its place, as the inputs broadcast.
bool IsBinaryElementwise(const Node& node);

// What lies between two places on an axis of a constant.
Tensor SliceOf(const Tensor& whole, size_t axis, int64_t from, int64_t length);

// Bytes of the node's results by their inferred types; nothing when some are not static.
std::optional<uint64_t> ResultBytes(const Graph& graph, const Node& node);

// Who makes each value, kept up to date while a pass edits.
std::vector<NodeId> ProducerTable(const Graph& graph);

// The only reader of a value if it is that operator; invalid otherwise. As of the last Build.
NodeId OnlyReader(const Graph& graph, ValueId value, std::string_view op);

// Adds a Reshape of `from` whose result is `to`; `to` has static dims.
NodeId AddReshape(GraphBuilder& builder, ValueId from, ValueId to);

// Removes `node`, whose output `from` always equals `to`: readers of `from` read `to`. When `from` is a graph output,
// the producer of `to` makes `from` in its place, so that the output keeps its name; where that cannot be (`to` is a
// graph input, a constant or an output as well) nothing happens and false comes back.
bool BypassNode(GraphBuilder& builder, std::vector<NodeId>& producers, NodeId node, ValueId from, ValueId to);

// Lengths of that many parts of `count`, as equal as can be in whole `unit`s (which divide it), longer ones first.
std::vector<int64_t> EqualParts(int64_t count, uint32_t parts, int64_t unit = 1);

// What a pass gives back: the graph as edited, nothing where it changed nothing.
Result<std::optional<Graph>> BuildIfChanged(GraphBuilder& builder, bool changed);

// Appends the sources of `from` to those of `to`.
void MergeSources(GraphBuilder& builder, NodeId to, NodeId from);

}  // namespace pt
