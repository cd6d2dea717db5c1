// What operators say that only move elements: Transpose, DepthToSpace, SpaceToDepth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// Of a Transpose: dim d of the result is dim [d] of the input. Without the attribute, the dims are reversed.
// Error: kInvalidInput where that is not a permutation.
Result<std::vector<size_t>> ReadPermutation(const Node& node, size_t rank);

// Of DepthToSpace and SpaceToDepth: channels are (block row, block column, rest), or (rest, block row, block column).
struct DepthSpaceNode {
  int64_t block = 1;
  bool depth_first = true;

  friend bool operator==(const DepthSpaceNode&, const DepthSpaceNode&) = default;
};
// Errors: kInvalidInput for a block size that is not within 1 and 65536, and for an unknown mode.
Result<DepthSpaceNode> ReadDepthSpace(const Node& node);

}  // namespace pt
