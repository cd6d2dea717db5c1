#include "lib/backend/reference/kernel.h"
#include "partitiontuner/backend/libraries.h"

namespace pt {

Status CheckOperators(const Graph& graph) {
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Result<reference::PreparedNode> prepared = reference::Prepare(graph, NodeId(n), nullptr);
    if (!prepared.ok() && prepared.error().code == ErrorCode::kInvalidInput) return prepared.error();
  }
  return {};
}

}  // namespace pt
