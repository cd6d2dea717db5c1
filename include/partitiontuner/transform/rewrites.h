// Rewrites: other graphs that compute the same, which pay only where measurement says so. Passes always run; rewrites
// are asked for, and plans made for a rewritten graph say by which.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

enum class SplitAxis : uint8_t { kChannels, kRows };

// Nodes that are cut into parts which may run beside each other.
struct NodeSplit {
  std::string nodes;   // a pattern, as FindNodes takes it, over the planned graph
  uint32_t parts = 2;  // at least 2
  SplitAxis axis = SplitAxis::kChannels;

  friend bool operator==(const NodeSplit&, const NodeSplit&) = default;
};

// What is done to the planned graph, in this order.
struct Rewrites {
  std::vector<NodeSplit> splits;
  uint32_t time_slices = 1;
  uint32_t requests = 1;

  bool empty() const { return *this == Rewrites(); }
  // One more split can be done to a graph that has been through these.
  bool may_split_more() const { return time_slices == 1 && requests == 1; }
  friend bool operator==(const Rewrites&, const Rewrites&) = default;
};

inline constexpr uint32_t kMostParts = 1024;  // of any rewrite

// "split=conv1*:2, split-rows=fc:4, time-slices=4, requests=2"; empty for none. A split's pattern holds no comma.
std::string ToString(const Rewrites& rewrites);
// The same back, and parts of it in any order. Errors: kUsage.
Result<Rewrites> RewritesFromString(std::string_view text);

// An operator becomes several that make a part of its result each; what is elementwise behind it alone goes along, and
// a Concat joins the parts. By channels: a Conv with some of the output channels each, a MatMul or Gemm with constant
// weights with some of the columns. By rows: a Conv with some of the rows (the first spatial axis) each, from the rows
// of its input that those need, a MatMul or Gemm with some of the rows of the first matrix. Errors: kUsage where the
// pattern means no node that can be split so.
Result<Graph> SplitNodes(const Graph& graph, const NodeSplit& split);

// Why the node cannot be split so; empty where it can.
std::string SplitFault(const Graph& graph, NodeId node, uint32_t parts, SplitAxis axis);

// Each LSTM, GRU or RNN of one direction, with at least that many steps and no sequence lengths, becomes as many over
// consecutive steps, each of which goes on from the states of the one before. What lies between two such layers and
// treats all steps alike is cut as well, so that one layer can work on a slice while the next works on the slice before
// (docs/planners.md, "rnn-pipeline"). Errors: kUsage where no layer can be cut.
Result<Graph> SliceTime(const Graph& graph, uint32_t slices);

// The whole graph several times side by side, weights shared: one run answers several requests. Inputs and outputs are
// those of the first request, then of the second ("x", "x#1") and so on.
Result<Graph> RepeatRequests(const Graph& graph, uint32_t requests);

// All of them, in the order of the members. Errors: theirs; kUsage for numbers below 1 or above kMostParts.
Result<Graph> Rewrite(const Graph& graph, const Rewrites& rewrites);

}  // namespace pt
