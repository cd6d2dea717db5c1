// What reductions say: Reduce*, ArgMax and ArgMin, TopK, CumSum and CumProd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// For Reduce*.
bool KeepsReducedDims(const Node& node);
// Which dims of the input are reduced, one truth a dim. axes: the content of input 1, where there is one.
// Errors: kInvalidInput where an axis does not exist, or they are not a list.
Result<std::vector<bool>> ReadReducedDims(const Node& node, size_t rank, const std::optional<Tensor>& axes);
// The same by the graph's constants; kUnsupported where the axes are not known until run time.
Result<std::vector<bool>> ReadReducedDims(const Graph& graph, const Node& node, size_t rank);

// The attributes of ArgMax and ArgMin, read and checked.
struct ArgReductionNode {
  size_t axis = 0;
  bool keeps_dim = true;
  bool takes_last = false;  // of equal elements; else the first

  friend bool operator==(const ArgReductionNode&, const ArgReductionNode&) = default;
};
// Error: kInvalidInput where there is no such axis.
Result<ArgReductionNode> ReadArgReduction(const Node& node, int64_t opset, size_t rank);

// The attributes of TopK, read and checked.
struct TopKNode {
  size_t axis = 0;
  bool largest = true, sorted = true;
  std::optional<int64_t> k;  // before operator set 10; else input 1 says it

  friend bool operator==(const TopKNode&, const TopKNode&) = default;
};
// Error: kInvalidInput where there is no such axis.
Result<TopKNode> ReadTopK(const Node& node, int64_t opset, size_t rank);

// For CumSum and CumProd, whose axis is an input.
struct CumulativeNode {
  bool exclusive = false, reverse = false;

  friend bool operator==(const CumulativeNode&, const CumulativeNode&) = default;
};
CumulativeNode ReadCumulative(const Node& node);

}  // namespace pt
