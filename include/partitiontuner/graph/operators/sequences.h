// What operators between tensors and sequences say.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

// SplitToSequence: parts of one element each, which it makes when no lengths are given, keep the dim.
bool KeepsSplitDim(const Node& node);
// ConcatFromSequence: elements are stacked along a dim of their own.
bool HasNewAxis(const Node& node);

}  // namespace pt
