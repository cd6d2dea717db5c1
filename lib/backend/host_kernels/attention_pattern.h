// The nodes that spell out attention around a Softmax.
#pragma once

#include <optional>
#include <vector>

#include "lib/backend/host_kernels/attention.h"

namespace pt::host {

struct AttentionPattern {
  // Matrices are read and written where they lie: dim d of the product is dim dims[d] of the value.
  struct Matrices {
    ValueId value;
    std::vector<size_t> dims;
  };
  struct Mask {
    ValueId value;
    AttentionMask kind;
  };

  std::vector<NodeId> nodes;  // ascending
  Matrices q, k, v, y;
  double scale = 1;
  std::vector<Mask> masks;  // in order
};

// With the transpositions, scales and masks that nobody else needs; nullopt where the node is no Softmax of attention.
std::optional<AttentionPattern> FindAttention(const Graph& graph, NodeId softmax);

// What FindAttention finds with exactly these nodes; nullopt where there is no such thing.
std::optional<AttentionPattern> ReadAttention(const Graph& graph, std::span<const NodeId> nodes);

// The site's nodes, which the pattern was read from. kUnsupported where types or dims do not fit.
Result<Routine> MakeAttention(const Site& site, const AttentionPattern& pattern);

}  // namespace pt::host
