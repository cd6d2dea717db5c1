#include "lib/onnx/fresh_names.h"

namespace pt {

FreshNames::FreshNames(const proto::GraphProto& graph) { Collect(graph); }

void FreshNames::Collect(const proto::GraphProto& graph) {
  for (const auto& input : graph.input()) names_.insert(input.name());
  for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
  for (const proto::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) names_.insert(output);
    for (const proto::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) Collect(attribute.g());
      for (const proto::GraphProto& inner : attribute.graphs()) Collect(inner);
    }
  }
}

std::string FreshNames::Make(const std::string& base) {
  while (true) {
    std::string name = base + "_" + std::to_string(next_++);
    if (names_.insert(name).second) return name;
  }
}

}  // namespace pt
