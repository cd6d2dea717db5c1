#include "partitiontuner/graph/operators/signals.h"

namespace pt {

DftNode ReadDft(const Node& node) {
  return {node.int_or("onesided", 0) != 0, node.int_or("inverse", 0) != 0, node.int_or("axis", 1)};
}

bool IsOnesidedStft(const Node& node) { return node.int_or("onesided", 1) != 0; }

}  // namespace pt
