// How much of its inputs a node reads.
#pragma once

#include <cstddef>

#include "partitiontuner/graph/graph.h"

namespace pt {

// The size of a dense value; 0 where its dims are not known.
double BytesOfValue(const Value& value);

// Of the node's input at this position, every byte counted once: of a table that rows are looked up in, no more than
// comes out. 0 where dims are not known or the input is absent.
double BytesRead(const Graph& graph, NodeId node, size_t input);

}  // namespace pt
