#include "partitiontuner/graph/operators/views.h"

#include <algorithm>

#include "partitiontuner/graph/operators/axis.h"

namespace pt {

Result<size_t> ReadFlatten(const Node& node, size_t rank) {
  const int64_t axis = node.int_or("axis", 1);
  if (axis == static_cast<int64_t>(rank)) return rank;  // a negative one counts without the place behind the last dim
  return ResolveAxis(axis, rank);
}

DimRange ReadShapeRange(const Node& node, size_t rank) {
  const auto dims = static_cast<int64_t>(rank);
  const auto place = [&](const char* name, int64_t otherwise) {
    const int64_t given = node.int_or(name, otherwise);
    return static_cast<size_t>(std::clamp<int64_t>(given < 0 ? given + dims : given, 0, dims));
  };
  const size_t begin = place("start", 0);
  return {begin, std::max(begin, place("end", dims))};
}

bool TakesZeroAsZero(const Node& node) { return node.int_or("allowzero", 0) != 0; }

}  // namespace pt
