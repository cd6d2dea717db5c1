// Experts of a mixture as they are spelled out, all tokens by all experts, where what a token has not chosen counts
// nothing: what a kernel that computes the chosen alone needs to know.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/graph/packed_matrix.h"

namespace pt {

// MatMul of rows by one matrix an expert, and the constant row that is added.
struct ExpertLayer {
  NodeId product;
  ValueId matrices;       // float32 [experts, depth, columns]
  NodeId dequantisation;  // invalid: they are constant. Else of [experts, columns, depth], read by a Transpose alone
  ValueId bias;           // [experts, 1, columns]; invalid: none
  ValueId result;         // with the bias

  bool is_packed() const { return dequantisation.valid(); }
};

struct Experts {
  ValueId tokens;           // float32 [1, tokens, depth]
  ValueId indices, shares;  // [tokens, chosen]: of experts, and by what their results count; a share of 0: not chosen
  ExpertLayer up, down;
  std::vector<NodeId> slices;  // of up's columns, each with a constant step
  std::vector<NodeId> middle;  // element by element from there to what down reads; may be none
  ValueId inner, result;       // what down reads; the sum [tokens, columns]
  std::vector<NodeId> nodes;   // all of them, ascending
};

// The experts whose results are summed by this node: a ReduceSum. All sizes are known. nullopt where they are spelled
// otherwise.
std::optional<Experts> FindExperts(const Graph& graph, NodeId sum);
// The same where the nodes are all of them; ascending.
std::optional<Experts> ReadExperts(const Graph& graph, std::span<const NodeId> nodes);

// The matrix of one expert that a packed layer stores, as rows are multiplied by it; nullopt where it is stored in
// another way.
std::optional<PackedMatrix> PackedMatrixOf(const Graph& graph, const ExpertLayer& layer, int64_t expert);

// The node makes the matrices of such a layer out of integers of a few bits. What else is constant may still have to be
// folded.
bool FeedsExperts(const Graph& graph, NodeId dequantisation);

}  // namespace pt
