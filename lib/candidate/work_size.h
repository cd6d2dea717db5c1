// Arithmetic of one node, estimated from its operator and the shapes around it.
#pragma once

#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// A dim that is not known before the run counts so much: rows of a batch, words of a sentence, boxes that were found.
// Further ones of the same value count less: that all of them are large is rare.
inline constexpr int64_t kAssumedDim = 64, kFurtherAssumedDim = 8;

// With the assumed ones; empty where not even the rank is known.
std::vector<int64_t> AssumedDims(const ValueType& type);
double AssumedElements(const ValueType& type);

// By assumed dims. 0 where ranks are unknown or only bytes move.
double FlopsOf(const Graph& graph, NodeId id);

}  // namespace pt
