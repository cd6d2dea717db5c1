#include "test/testing/function_model.h"

#include "partitiontuner/onnx/load_onnx.h"
#include "test/testing/classical_domain.h"
#include "test/testing/onnx_bytes.h"

namespace pt::testing {
namespace {

Wire GraphWire(const ModelGraph& graph);

Wire TensorWire(const std::string& name, const Tensor& tensor) {
  const std::string bytes(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  return RawTensor(name, static_cast<int>(tensor.type()), tensor.dims(), bytes);
}

struct AttributeWriter {
  const std::string& name;

  Wire operator()(int64_t value) const { return IntAttribute(name, value); }
  Wire operator()(float value) const { return FloatAttribute(name, value); }
  Wire operator()(const std::string& value) const { return StringAttribute(name, value); }
  Wire operator()(const Tensor& value) const { return TensorAttribute(name, TensorWire({}, value)); }
  Wire operator()(const std::vector<int64_t>& value) const { return IntsAttribute(name, value); }
  Wire operator()(const std::vector<float>& value) const { return FloatsAttribute(name, value); }
  Wire operator()(const std::vector<std::string>& value) const { return StringsAttribute(name, value); }
  Wire operator()(const std::shared_ptr<const ModelGraph>& value) const {
    return GraphAttribute(name, GraphWire(*value));
  }
};

Wire AttributeWire(const ModelAttribute& attribute) {
  constexpr int kKinds[] = {2, 1, 3, 4, 7, 6, 8, 5};  // AttributeProto's, in the variant's order
  if (!attribute.refers_to.empty())
    return ReferenceAttribute(attribute.name, attribute.refers_to, kKinds[attribute.value.index()]);
  return std::visit(AttributeWriter{attribute.name}, attribute.value);
}

Wire NodeWire(const ModelNode& node) {
  std::vector<Wire> attributes;
  for (const ModelAttribute& attribute : node.attributes) attributes.push_back(AttributeWire(attribute));
  Wire wire = NodeBytes(node.op, node.inputs, node.outputs, attributes, {}, node.domain);
  if (!node.overload.empty()) wire.Bytes(8, node.overload);
  return wire;
}

Wire GraphWire(const ModelGraph& graph) {
  GraphParts parts;
  for (const ModelNode& node : graph.nodes) parts.nodes.push_back(NodeWire(node));
  for (const std::string& name : graph.inputs) parts.inputs.push_back(Wire().Bytes(1, name));
  for (const std::string& name : graph.outputs) parts.outputs.push_back(Wire().Bytes(1, name));
  return GraphBytes(parts);
}

Wire FunctionWire(const ModelFunction& function) {
  FunctionParts parts;
  parts.domain = function.domain;
  parts.name = function.name;
  parts.inputs = function.inputs;
  parts.outputs = function.outputs;
  parts.attributes = function.attributes;
  for (const ModelNode& node : function.nodes) parts.nodes.push_back(NodeWire(node));
  for (const ModelAttribute& attribute : function.defaults)
    parts.attribute_defaults.push_back(AttributeWire(attribute));
  parts.opsets = {{"", kTargetOpset}, {"local", 1}, {std::string(kClassicalDomain), kClassicalVersion}};
  Wire wire = FunctionBytes(parts);
  if (!function.overload.empty()) wire.Bytes(13, function.overload);
  return wire;
}

// Names of a graph's values; those of captured values are given, others are new.
using ValueNames = std::vector<std::string>;

ValueNames NamesOf(const Graph& graph, const std::string& prefix) {
  ValueNames names;
  for (size_t v = 0; v < graph.values().size(); ++v) names.push_back(prefix + std::to_string(v));
  return names;
}

// Constants are nodes.
ModelGraph GraphOf(const Graph& graph, const ValueNames& names, const std::string& prefix, bool with_constants) {
  ModelGraph made;
  const auto name = [&](ValueId id) { return id.valid() ? names[id.index()] : std::string(); };
  for (const ValueId input : graph.inputs()) made.inputs.push_back(name(input));
  for (size_t v = 0; v < graph.values().size() && with_constants; ++v) {
    if (graph.values()[v].is_constant())
      made.nodes.push_back({"Constant", {}, {names[v]}, {{"value", *graph.values()[v].constant}}});
  }
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    ModelNode& to = made.nodes.emplace_back(ModelNode{node.op, {}, {}});
    to.domain = node.domain;
    for (size_t i = 0; i < node.formal_inputs; ++i) to.inputs.push_back(name(node.inputs[i]));
    // Where the standard lets no output be left out, one that nothing reads has a name.
    for (size_t o = 0; o < node.outputs.size(); ++o)
      to.outputs.push_back(node.outputs[o].valid() ? name(node.outputs[o])
                                                   : prefix + "n" + std::to_string(n) + "_" + std::to_string(o));
    for (const auto& [attribute, value] : node.attributes)
      std::visit([&, &key = attribute](const auto& v) { to.attributes.push_back({key, v}); }, value);
    for (const Subgraph& subgraph : node.subgraphs) {
      const std::string within = prefix + "n" + std::to_string(n) + subgraph.attribute;
      ValueNames inner = NamesOf(*subgraph.graph, within);
      for (size_t c = 0; c < subgraph.captures.size(); ++c)
        inner[subgraph.graph->captured()[c].index()] = name(node.inputs[subgraph.captures[c]]);
      to.attributes.push_back(
          {subgraph.attribute, std::make_shared<const ModelGraph>(GraphOf(*subgraph.graph, inner, within, true))});
    }
  }
  for (const ValueId output : graph.outputs()) made.outputs.push_back(name(output));
  return made;
}

}  // namespace

FunctionModel ModelOf(const Graph& graph, std::span<const Tensor> inputs) {
  const ValueNames names = NamesOf(graph, "v");
  FunctionModel model;
  model.graph = GraphOf(graph, names, "v", false);
  for (size_t i = 0; i < inputs.size(); ++i) model.inputs.push_back({names[graph.inputs()[i].index()], inputs[i]});
  for (size_t v = 0; v < names.size(); ++v) {
    if (graph.values()[v].is_constant()) model.constants.push_back({names[v], *graph.values()[v].constant});
  }
  return model;
}

std::string BytesOf(const FunctionModel& model) {
  GraphParts graph;
  for (const NamedTensor& input : model.inputs) {
    std::vector<std::string> dims;
    for (const int64_t d : input.tensor.dims()) dims.push_back(std::to_string(d));
    graph.inputs.push_back(ValueInfo(input.name, static_cast<int>(input.tensor.type()), dims));
  }
  for (const NamedTensor& constant : model.constants)
    graph.initializers.push_back(TensorWire(constant.name, constant.tensor));
  for (const ModelNode& node : model.graph.nodes) graph.nodes.push_back(NodeWire(node));
  for (const std::string& output : model.graph.outputs) graph.outputs.push_back(Wire().Bytes(1, output));
  ModelParts parts;
  parts.graph = GraphBytes(graph);
  for (const ModelFunction& function : model.functions) parts.functions.push_back(FunctionWire(function));
  parts.opsets = {{"", kTargetOpset}, {"local", 1}, {std::string(kClassicalDomain), kClassicalVersion}};
  return ModelBytes(parts);
}

}  // namespace pt::testing
