#include "partitiontuner/graph/find_nodes.h"

#include <charconv>

#include "partitiontuner/support/text.h"

namespace pt {

std::vector<NodeId> FindNodes(const Graph& graph, std::string_view pattern) {
  size_t index = 0;
  const char* const end = pattern.data() + pattern.size();
  if (const auto [stop, problem] = std::from_chars(pattern.data(), end, index); problem == std::errc() && stop == end) {
    if (index < graph.nodes().size()) return {NodeId(index)};
    return {};
  }
  std::vector<NodeId> found;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    bool meant = !node.name.empty() && MatchesGlob(node.name, pattern);
    for (const ValueId output : node.outputs)
      meant = meant || (output.valid() && MatchesGlob(graph.value(output).name, pattern));
    for (const Source& source : node.source) meant = meant || MatchesGlob(source.first_output, pattern);
    if (meant) found.push_back(NodeId(i));
  }
  return found;
}

}  // namespace pt
