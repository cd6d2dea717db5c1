#include "lib/onnx/node_to_proto.h"

namespace pt {
namespace {

using A = proto::AttributeProto;

const std::string& NameOf(ValueId id, std::span<const std::string> names) {
  static const std::string absent;
  return id.valid() ? names[id.index()] : absent;
}

void AddAttribute(const std::string& name, const Attribute& attribute, const FillTensor& fill, proto::NodeProto& to) {
  A& a = *to.add_attribute();
  a.set_name(name);
  if (const auto* i = std::get_if<int64_t>(&attribute)) {
    a.set_type(A::INT);
    a.set_i(*i);
  } else if (const auto* f = std::get_if<float>(&attribute)) {
    a.set_type(A::FLOAT);
    a.set_f(*f);
  } else if (const auto* s = std::get_if<std::string>(&attribute)) {
    // The loader keeps it in this form.
    if (to.op_type() == "Optional" && name == "type" && a.mutable_tp()->ParseFromString(*s)) {
      a.set_type(A::TYPE_PROTO);
      return;
    }
    a.clear_tp();
    a.set_type(A::STRING);
    a.set_s(*s);
  } else if (const auto* tensor = std::get_if<Tensor>(&attribute)) {
    a.set_type(A::TENSOR);
    fill(*tensor, *a.mutable_t());
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute)) {
    a.set_type(A::INTS);
    a.mutable_ints()->Add(ints->begin(), ints->end());
  } else if (const auto* floats = std::get_if<std::vector<float>>(&attribute)) {
    a.set_type(A::FLOATS);
    a.mutable_floats()->Add(floats->begin(), floats->end());
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&attribute)) {
    a.set_type(A::STRINGS);
    for (const std::string& text : *strings) a.add_strings(text);
  }
}

}  // namespace

void NodeToProto(const Node& node, std::span<const std::string> names, const FillTensor& fill, proto::NodeProto& to) {
  to.set_op_type(node.op);
  to.set_domain(node.domain);
  for (uint32_t i = 0; i < node.formal_inputs; ++i) to.add_input(NameOf(node.inputs[i], names));
  for (const ValueId output : node.outputs) to.add_output(NameOf(output, names));
  for (const auto& [name, attribute] : node.attributes) AddAttribute(name, attribute, fill, to);
}

std::vector<std::string> CapturedNames(const Node& node, const Subgraph& subgraph, std::span<const std::string> names) {
  std::vector<std::string> inner(subgraph.graph->values().size());
  for (size_t c = 0; c < subgraph.captures.size(); ++c) {
    inner[subgraph.graph->captured()[c].index()] = NameOf(node.inputs[subgraph.captures[c]], names);
  }
  return inner;
}

proto::GraphProto& AddGraphAttribute(const Subgraph& subgraph, proto::NodeProto& to) {
  A& attribute = *to.add_attribute();
  attribute.set_name(subgraph.attribute);
  attribute.set_type(A::GRAPH);
  return *attribute.mutable_g();
}

proto::ModelProto ModelWithImports(const Graph& graph) {
  proto::ModelProto model;
  const auto import = [&](const std::string& domain, int64_t version) {
    auto* opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  };
  if (graph.opset() != 0) import("", graph.opset());
  for (const auto& [domain, version] : graph.domains()) import(domain, version);
  return model;
}

}  // namespace pt
