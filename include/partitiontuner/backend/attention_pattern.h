// The nodes that spell out attention around a Softmax, whatever library runs them: softmax(q · k · scale + masks) · v,
// maybe with scores that are capped before the masks, and with weights that are 0 where the Softmax has NaN.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

inline constexpr size_t kMostAttentionMasks = 2;

// Which values are what in an attention that a group of plain operators computes.
struct AttentionPattern {
  // Matrices are read and written where they lie: dim d of the product is dim dims[d] of the value.
  struct Matrices {
    ValueId value;
    std::vector<size_t> dims;
  };
  // Scores + mask, or scores where the condition is `keep_where` and `otherwise` elsewhere. Broadcasts to the scores.
  struct Mask {
    ValueId value;
    bool is_condition = false, keep_where = true;
    float otherwise = 0;
  };

  std::vector<NodeId> nodes;  // ascending
  Matrices q, k, v, y;        // queries x depth, depth x keys, keys x size, queries x size
  double scale = 1;
  double softcap = 0;       // scores become softcap · tanh(score / softcap); 0: as they are
  std::vector<Mask> masks;  // in order; kMostAttentionMasks of them at most
  bool nan_is_zero = false;
  // Neighbouring query heads that share keys and values. Where it is not 1, heads are dim 1 of the products' four dims
  // and of the values of k and v, which have that many times fewer.
  int64_t each = 1;
};

// With the transpositions, scales and masks that nothing else needs; nullopt if the node is not a Softmax of attention.
std::optional<AttentionPattern> FindAttention(const Graph& graph, NodeId softmax);

// The same with the nodes that repeat heads of keys and values for it alone (Unsqueeze, Expand, Reshape); nullopt where
// there are none.
std::optional<AttentionPattern> FindGroupedAttention(const Graph& graph, NodeId softmax);

// What FindAttention finds with exactly these nodes; nullopt where there is no such thing.
std::optional<AttentionPattern> ReadAttention(const Graph& graph, std::span<const NodeId> nodes);
// The same of FindGroupedAttention.
std::optional<AttentionPattern> ReadGroupedAttention(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace pt
