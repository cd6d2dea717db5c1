#include "partitiontuner/candidate/bytes_read.h"

#include <algorithm>

#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

bool IsLookedUpIn(const Node& node, size_t input) {
  return input == 0 && (node.op == "Gather" || node.op == "GatherElements" || node.op == "GatherND");
}

}  // namespace

double BytesOfValue(const Value& value) {
  const std::optional<std::vector<int64_t>> dims = value.type.static_dims();
  const std::optional<int64_t> elements = dims ? CheckedProduct(*dims) : std::nullopt;
  return elements ? static_cast<double>(*elements) * BitsOf(value.type.type) / 8.0 : 0.0;
}

double BytesRead(const Graph& graph, NodeId node, size_t input) {
  const Node& reader = graph.node(node);
  if (input >= reader.inputs.size() || !reader.inputs[input].valid()) return 0;
  const double whole = BytesOfValue(graph.value(reader.inputs[input]));
  if (!IsLookedUpIn(reader, input) || reader.outputs.empty() || !reader.outputs[0].valid()) return whole;
  const Value& found = graph.value(reader.outputs[0]);
  return found.type.static_dims() ? std::min(whole, BytesOfValue(found)) : whole;
}

}  // namespace pt
