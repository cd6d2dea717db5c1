// The graph several times side by side, constants shared.
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/transform/rewrites.h"

namespace pt {
namespace {

std::string NameOf(const std::string& name, uint32_t request) {
  return name.empty() || request == 0 ? name : name + "#" + std::to_string(request);
}

}  // namespace

Result<Graph> RepeatRequests(const Graph& graph, uint32_t requests) {
  GraphBuilder builder;
  builder.set_name(graph.name());
  builder.set_opset(graph.opset());
  for (const auto& [domain, version] : graph.domains()) builder.set_domain(domain, version);
  std::vector<ValueId> constants(graph.values().size());
  for (size_t v = 0; v < constants.size(); ++v) {
    const Value& value = graph.values()[v];
    if (value.is_constant()) constants[v] = builder.AddConstant(value.name, *value.constant);
  }
  std::vector<std::vector<ValueId>> copies;  // by request, by value of the graph
  for (uint32_t request = 0; request < requests; ++request) {
    std::vector<ValueId>& copy = copies.emplace_back(constants);
    for (const ValueId input : graph.inputs()) {
      const Value& value = graph.value(input);
      copy[input.index()] = builder.AddInput(NameOf(value.name, request), value.type);
    }
  }
  for (uint32_t request = 0; request < requests; ++request) {
    std::vector<ValueId>& copy = copies[request];
    for (size_t v = 0; v < copy.size(); ++v) {
      const Value& value = graph.values()[v];
      if (value.producer.valid()) copy[v] = builder.AddValue(NameOf(value.name, request), value.type);
    }
    for (Node node : graph.nodes()) {
      node.name = NameOf(node.name, request);
      for (ValueId& input : node.inputs) input = input.valid() ? copy[input.index()] : ValueId();
      for (ValueId& output : node.outputs) output = output.valid() ? copy[output.index()] : ValueId();
      builder.AddNode(std::move(node));
    }
    for (const ValueId output : graph.outputs()) builder.AddOutput(copy[output.index()]);
  }
  return builder.Build();
}

}  // namespace pt
