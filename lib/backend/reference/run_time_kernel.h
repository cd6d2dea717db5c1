// Nodes that cannot be prepared before the run, when the dims of their inputs are known, and perhaps the contents that
// decide the dims of their outputs.
#pragma once

#include "lib/backend/reference/kernel.h"

namespace pt::reference {

// True when an input or output has no static size, the operator's row says that it is sized by content, or the node
// runs nested graphs.
bool IsPreparedInRun(const Graph& graph, NodeId id);

// Refuses (kUnsupported) what is known not to run whatever the dims turn out to be.
Status CheckForRunTime(const Graph& graph, NodeId id);

// The graph must outlive the kernel.
Result<std::unique_ptr<Kernel>> CompileForRunTime(const Graph& graph, NodeId id);

}  // namespace pt::reference
