// What operators say that only move elements: Transpose, DepthToSpace, SpaceToDepth, Pad, GatherND, Scatter*, Trilu,
// Slice, Split, ReverseSequence, TensorScatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// Transpose: dim d of the result is dim [d] of the input. Without the attribute, the dims are reversed.
// Error: kInvalidInput where that is not a permutation.
Result<std::vector<size_t>> ReadPermutation(const Node& node, size_t rank);

// DepthToSpace and SpaceToDepth: channels are (block row, block column, rest), or (rest, block row, block column).
struct DepthSpaceNode {
  int64_t block = 1;
  bool depth_first = true;

  friend bool operator==(const DepthSpaceNode&, const DepthSpaceNode&) = default;
};
// Errors: kInvalidInput for a block size that is not within 1 and 65536, and for an unknown mode.
Result<DepthSpaceNode> ReadDepthSpace(const Node& node);

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };
// Error: kInvalidInput for an unknown mode.
Result<PadMode> ReadPadMode(const Node& node);
// What a Pad fills up with, before operator set 11; an input since then.
float ReadPadValue(const Node& node);

// ScatterElements and ScatterND: what becomes of an element and its update.
enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };
// Error: kInvalidInput for an unknown word.
Result<ScatterReduction> ReadScatterReduction(const Node& node);

// GatherND: how many leading dims indices and data have in common. May be wrong.
int64_t ReadBatchDims(const Node& node);
// Trilu keeps the upper triangle, else the lower one.
bool KeepsUpperTriangle(const Node& node);

// Pad before operator set 11: how many elements are added in front of each dim, then behind each. May be wrong.
std::vector<int64_t> ReadPads(const Node& node);

// Slice before operator set 10. Lists are of one length; without axes, the first dims are meant.
struct SliceNode {
  std::vector<int64_t> starts, ends, axes;
};
// Error: kInvalidInput where they differ in length.
Result<SliceNode> ReadSlice(const Node& node);

// Split since operator set 18: how many parts. nullopt: as many as it has outputs.
std::optional<int64_t> ReadPartCount(const Node& node);

// ReverseSequence: the axes 0 and 1, in one order or the other.
struct ReverseSequenceNode {
  size_t batch_axis = 1, time_axis = 0;
};
// Error: kInvalidInput for other axes.
Result<ReverseSequenceNode> ReadReverseSequence(const Node& node);

// TensorScatter: places behind the end of the cache are those at its beginning.
// Error: kInvalidInput for an unknown mode.
Result<bool> IsCircular(const Node& node);

}  // namespace pt
