#include "partitiontuner/graph/operators/sequences.h"

namespace pt {

bool KeepsSplitDim(const Node& node) { return node.int_or("keepdims", 1) != 0; }

bool HasNewAxis(const Node& node) { return node.int_or("new_axis", 0) != 0; }

}  // namespace pt
