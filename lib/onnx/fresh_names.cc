#include "lib/onnx/fresh_names.h"

namespace pt {

FreshNames::FreshNames(const proto::GraphProto& graph) { Collect(graph); }

FreshNames::FreshNames(const Graph& graph) { Collect(graph); }

FreshNames::FreshNames(const proto::FunctionProto& function) {
  names_.insert(function.input().begin(), function.input().end());
  Collect(function.node());
}

void FreshNames::Collect(const proto::GraphProto& graph) {
  for (const auto& input : graph.input()) names_.insert(input.name());
  for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
  Collect(graph.node());
}

void FreshNames::Collect(const Nodes& nodes) {
  for (const proto::NodeProto& node : nodes) {
    for (const std::string& output : node.output()) names_.insert(output);
    for (const proto::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) Collect(attribute.g());
      for (const proto::GraphProto& inner : attribute.graphs()) Collect(inner);
    }
  }
}

void FreshNames::Collect(const Graph& graph) {
  for (const Value& value : graph.values()) names_.insert(value.name);
  for (const Node& node : graph.nodes()) {
    for (const Subgraph& subgraph : node.subgraphs) Collect(*subgraph.graph);
  }
}

std::string FreshNames::Make(const std::string& base) {
  while (true) {
    std::string name = base + "_" + std::to_string(next_++);
    if (names_.insert(name).second) return name;
  }
}

}  // namespace pt
