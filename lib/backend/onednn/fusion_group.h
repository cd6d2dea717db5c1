// Groups of nodes that oneDNN runs as one primitive: an anchor (convolution, matmul, …) followed by
// elementwise operations, or such operations alone.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/backend/onednn/pointwise.h"
#include "partitiontuner/candidate/candidate.h"

namespace pt::onednn {

struct FusionGroup {
  std::vector<NodeId> nodes;   // ascending
  NodeId anchor;               // invalid: elementwise operations alone, starting from `main`
  ValueId main;                // valid without anchor
  std::vector<Pointwise> ops;  // applied in order to the anchor's result or to main
  ValueId result;              // the first of its outputs; others only recurrent operators have
};

// The group of one node; nullopt when this library cannot run it.
std::optional<FusionGroup> SingleGroup(const Graph& graph, NodeId node);
// Every group worth offering: single nodes, activations spelled out in several nodes, and chains
// grown from these along values that nobody else needs. In a stable order, without repeats.
std::vector<FusionGroup> NaturalGroups(const Graph& graph);
// The group of exactly these nodes; nullopt when they are none.
std::optional<FusionGroup> GroupOf(const Graph& graph, std::span<const NodeId> nodes);

// Whether anything may follow the group's anchor as a post-operation at all.
bool MayGrow(const Graph& graph, const FusionGroup& group);

}  // namespace pt::onednn
