// What Flatten, Shape and Reshape say of an input's dims.
#pragma once

#include <cstddef>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// How many dims a Flatten folds into its rows, 0 to rank. Error: kInvalidInput where it is out of range.
Result<size_t> ReadFlatten(const Node& node, size_t rank);

// The dims that a Shape gives, from begin to before end; end is at least begin.
struct DimRange {
  size_t begin = 0, end = 0;

  friend bool operator==(const DimRange&, const DimRange&) = default;
};
// What lies outside the rank is cut off.
DimRange ReadShapeRange(const Node& node, size_t rank);

// Reshape: a 0 in the shape means no elements, else the dim that the input has there.
bool TakesZeroAsZero(const Node& node);

}  // namespace pt
