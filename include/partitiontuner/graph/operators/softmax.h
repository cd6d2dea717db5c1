// What a Softmax, LogSoftmax or Hardmax says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// Elements that differ in the dims from `begin` to before `end` alone belong to one vector. Before operator set 13,
// these are all dims from the axis on, maybe none of them.
struct SoftmaxNode {
  size_t begin = 0, end = 0;

  bool is_along_one_dim() const { return end == begin + 1; }
  friend bool operator==(const SoftmaxNode&, const SoftmaxNode&) = default;
};

// Error: kInvalidInput where there is no such axis.
Result<SoftmaxNode> ReadSoftmax(const Node& node, int64_t opset, size_t rank);
// Along the last dim and no other; false where the node cannot be read.
bool IsSoftmaxOfLastDim(const Node& node, int64_t opset, size_t rank);

}  // namespace pt
