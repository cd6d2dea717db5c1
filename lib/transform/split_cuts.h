// How an operator is cut: which part of its result each part makes, and what of its inputs that needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/transform/rewrites.h"

namespace pt {

// The rows of the first input that make rows of the result. Row r of the result reads `extent` rows from r * stride -
// pad_begin on; rows outside of the input are padding.
struct InputRows {
  size_t axis = 0;
  int64_t length = 0;  // of the input along it
  int64_t stride = 1, extent = 1, pad_begin = 0;
  bool padded = false;  // an operator with the attribute pads
};

struct Cut {
  size_t axis = 0;    // of the result
  int64_t count = 0;  // along it
  int64_t block = 1;  // parts are whole numbers of this where there are enough

  // Constants that are cut alike.
  struct Constant {
    size_t input = 0, axis = 0;
  };
  std::vector<Constant> constants;
  std::optional<InputRows> rows;  // else every part reads all of the first input
};

// How the node is cut into `parts`. Errors: kUsage with why it cannot be.
Result<Cut> CutOf(const Graph& graph, const Node& node, uint32_t parts, SplitAxis axis);

// How a node is cut that is elementwise over `data` as its first input, with constants that can be cut alike; `before`
// is the cut of `data`.
std::optional<Cut> FollowingCut(const Graph& graph, const Node& node, ValueId data, const Cut& before);

}  // namespace pt
