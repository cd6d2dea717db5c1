// Who needs a value.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

// The node of the one use of a value that nothing else needs, graph outputs included; invalid where there is none, or
// there are others.
inline NodeId OnlyReader(const Graph& graph, ValueId value) {
  const Value& read = graph.value(value);
  return read.uses.size() == 1 && !read.is_graph_output ? read.uses[0].node : NodeId();
}

}  // namespace pt
