#include "partitiontuner/graph/operators/softmax.h"

#include <algorithm>

#include "partitiontuner/graph/operators/axis.h"

namespace pt {

Result<SoftmaxNode> ReadSoftmax(const Node& node, int64_t opset, size_t rank) {
  const bool to_the_end = opset < 13;
  const int64_t axis = node.int_or("axis", to_the_end ? 1 : -1);
  if (to_the_end && axis == static_cast<int64_t>(rank)) return SoftmaxNode{rank, rank};
  PT_ASSIGN(const size_t begin, ResolveAxis(axis, std::max<size_t>(1, rank)));  // a scalar is a vector of one
  return SoftmaxNode{begin, to_the_end ? rank : std::min(begin + 1, rank)};
}

bool IsSoftmaxOfLastDim(const Node& node, int64_t opset, size_t rank) {
  const Result<SoftmaxNode> softmax = ReadSoftmax(node, opset, rank);
  return softmax.ok() && softmax->is_along_one_dim() && softmax->end == rank;
}

}  // namespace pt
