#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt {

Result<std::optional<Graph>> DropDeadCode(const Graph& graph, const PassContext&) {
  PT_ASSIGN(Graph live, GraphBuilder(graph).Build(false));
  if (live.nodes().size() == graph.nodes().size() && live.values().size() == graph.values().size())
    return {std::nullopt};
  return {std::optional<Graph>(std::move(live))};
}

}  // namespace pt
