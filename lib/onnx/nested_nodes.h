// Nodes and all that their nested graphs hold, a node before what is in it.
#pragma once

#include "lib/onnx/fence.h"

namespace pt {

// Whether holds(node) of any of them; stops at the first.
template <typename Holds>
bool AnyNode(const Nodes& nodes, const Holds& holds) {
  for (const proto::NodeProto& node : nodes) {
    if (holds(node)) return true;
    for (const proto::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g() && AnyNode(attribute.g().node(), holds)) return true;
      for (const proto::GraphProto& graph : attribute.graphs()) {
        if (AnyNode(graph.node(), holds)) return true;
      }
    }
  }
  return false;
}

// visit(node) of each.
template <typename Visit>
void VisitNodes(Nodes& nodes, const Visit& visit) {
  for (proto::NodeProto& node : nodes) {
    visit(node);
    for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) VisitNodes(*attribute.mutable_g()->mutable_node(), visit);
      for (proto::GraphProto& graph : *attribute.mutable_graphs()) VisitNodes(*graph.mutable_node(), visit);
    }
  }
}

// Those of a function's body, and of the graphs that its attributes have where a call leaves them out.
template <typename Visit>
void VisitNodes(proto::FunctionProto& function, const Visit& visit) {
  VisitNodes(*function.mutable_node(), visit);
  for (proto::AttributeProto& attribute : *function.mutable_attribute_proto()) {
    if (attribute.has_g()) VisitNodes(*attribute.mutable_g()->mutable_node(), visit);
    for (proto::GraphProto& graph : *attribute.mutable_graphs()) VisitNodes(*graph.mutable_node(), visit);
  }
}

}  // namespace pt
