#include "lib/onnx/graph_from_proto.h"

#include <onnx/defs/schema.h>

#include <unordered_map>

#include "lib/onnx/constant_node.h"
#include "lib/onnx/definitions.h"
#include "lib/onnx/sources.h"
#include "lib/onnx/tensor_from_proto.h"
#include "lib/onnx/value_types.h"
#include "partitiontuner/graph/graph_builder.h"

namespace pt {
namespace {

// One graph being built, and the ones around it.
struct Scope {
  GraphBuilder builder;
  Scope* outer = nullptr;
  std::unordered_map<std::string, ValueId> values;
  std::vector<std::string> captured;  // names, in the order of the graph's captured values
};

class Builder {
 public:
  Builder(const proto::ModelProto& model, const ModelTensors& tensors, const Limits& limits)
      : tensors_(tensors), limits_(limits) {
    for (const auto& import : model.opset_import()) {
      if (IsDefaultDomain(import.domain())) {
        opset_ = import.version();
      } else {
        domains_[import.domain()] = import.version();
      }
    }
  }

  Result<Graph> Build(proto::GraphProto& graph, Scope& scope) {
    scope.builder.set_name(graph.name());
    scope.builder.set_opset(opset_);
    for (const auto& [domain, version] : domains_) scope.builder.set_domain(domain, version);
    for (const auto& input : graph.input()) {
      ValueType type = TypeFromProto(input.type());
      if (limits_.rank != 0 && type.dims.size() > limits_.rank) {
        return LoadError(ErrorCode::kInvalidInput, "onnx.limit",
                         "input \"" + input.name() + "\" has rank " + std::to_string(type.dims.size()) +
                             ", over the limit of " + std::to_string(limits_.rank));
      }
      scope.values[input.name()] = scope.builder.AddInput(input.name(), std::move(type));
    }
    for (proto::TensorProto& tensor : *graph.mutable_initializer()) {
      const Tensor* known = scope.outer == nullptr ? tensors_.initializer(tensor.name()) : nullptr;
      if (known != nullptr) {
        scope.values[tensor.name()] = scope.builder.AddConstant(tensor.name(), *known);
      } else {
        PT_ASSIGN(Tensor taken, TakeTensor(tensor, "initialiser \"" + tensor.name() + "\"", limits_));
        scope.values[tensor.name()] = scope.builder.AddConstant(tensor.name(), std::move(taken));
      }
    }
    for (proto::NodeProto& node : *graph.mutable_node()) PT_CHECK_OK(AddNode(node, scope));
    for (const auto& output : graph.output()) {
      const auto at = scope.values.find(output.name());
      if (at == scope.values.end()) {
        return LoadError(ErrorCode::kInvalidInput, "onnx.missing",
                         "output \"" + output.name() + "\" is made by nothing");
      }
      scope.builder.AddOutput(at->second);
    }
    return scope.builder.Build();
  }

 private:
  // The value of that name in this scope, taken in from outside if need be; invalid when there is
  // none.
  ValueId Find(Scope& scope, const std::string& name) {
    const auto at = scope.values.find(name);
    if (at != scope.values.end()) return at->second;
    if (scope.outer == nullptr) return {};
    const ValueId outside = Find(*scope.outer, name);
    if (!outside.valid()) return {};
    const Value& value = scope.outer->builder.graph().value(outside);
    ValueId id;
    if (value.is_constant()) {
      id = scope.builder.AddConstant(name, *value.constant);
    } else {
      id = scope.builder.AddCaptured(name, value.type);
      scope.captured.push_back(name);
    }
    scope.values.emplace(name, id);
    return id;
  }

  static Error AtNode(Error error, const proto::NodeProto& node) {
    if (error.node.empty()) error.node = NodeLabel(node, SourceOf(node).index);
    return error;
  }

  Status AddNode(proto::NodeProto& proto, Scope& scope) {
    if (IsDefaultDomain(proto.domain()) && proto.op_type() == "Constant") {
      auto tensor = ConstantValue(proto, tensors_, limits_);
      if (!tensor.ok()) return AtNode(tensor.error(), proto);
      scope.values[proto.output(0)] = scope.builder.AddConstant(proto.output(0), std::move(*tensor));
      return {};
    }
    Node node;
    node.op = proto.op_type();
    node.domain = IsDefaultDomain(proto.domain()) ? std::string() : proto.domain();
    node.name = proto.name();
    node.source.push_back(SourceOf(proto));
    for (const std::string& name : proto.input()) {
      const ValueId id = name.empty() ? ValueId() : Find(scope, name);
      if (!name.empty() && !id.valid())
        return AtNode(
            LoadError(ErrorCode::kInvalidInput, "onnx.missing", "value \"" + name + "\" is read but nothing makes it"),
            proto);
      node.inputs.push_back(id);
    }
    while (!node.inputs.empty() && !node.inputs.back().valid()) node.inputs.pop_back();
    node.formal_inputs = static_cast<uint32_t>(node.inputs.size());
    for (proto::AttributeProto& attribute : *proto.mutable_attribute()) {
      Status status = AddAttribute(attribute, scope, node);
      if (!status.ok()) return AtNode(std::move(status).error(), proto);
    }
    for (const std::string& name : proto.output()) {
      ValueId id;
      if (!name.empty()) {
        id = scope.builder.AddValue(name);
        scope.values[name] = id;
      }
      node.outputs.push_back(id);
    }
    // How many there are says something where there may be any number: into how many parts Split splits.
    if (!MakesAnyNumber(node)) {
      while (!node.outputs.empty() && !node.outputs.back().valid()) node.outputs.pop_back();
    }
    scope.builder.AddNode(std::move(node));
    return {};
  }

  bool MakesAnyNumber(const Node& node) const {
    if (node.outputs.empty() || node.outputs.back().valid()) return false;
    const auto* schema = DefinitionOf(node.op, opset_, node.domain);
    return schema != nullptr && !schema->outputs().empty() &&
           schema->outputs().back().GetOption() == proto::OpSchema::Variadic;
  }

  Status AddAttribute(proto::AttributeProto& a, Scope& scope, Node& node) {
    using A = proto::AttributeProto;
    if (!a.ref_attr_name().empty()) {
      return LoadError(ErrorCode::kInvalidInput, "onnx.attribute",
                       "attribute " + a.name() + " refers to \"" + a.ref_attr_name() + "\" outside of a function");
    }
    switch (a.type()) {
      case A::INT:
        node.attributes[a.name()] = static_cast<int64_t>(a.i());
        return {};
      case A::FLOAT:
        node.attributes[a.name()] = a.f();
        return {};
      case A::STRING:
        node.attributes[a.name()] = a.s();
        return {};
      case A::INTS:
        node.attributes[a.name()] = std::vector<int64_t>(a.ints().begin(), a.ints().end());
        return {};
      case A::FLOATS:
        node.attributes[a.name()] = std::vector<float>(a.floats().begin(), a.floats().end());
        return {};
      case A::STRINGS:
        node.attributes[a.name()] = std::vector<std::string>(a.strings().begin(), a.strings().end());
        return {};
      case A::TENSOR: {
        PT_ASSIGN(Tensor tensor, AttributeTensor(*a.mutable_t(), "attribute " + a.name(), tensors_, limits_));
        node.attributes[a.name()] = std::move(tensor);
        return {};
      }
      case A::GRAPH:
        return AddSubgraph(a, scope, node);
      case A::TYPE_PROTO:
        // Only inference reads it, which gets it back as it is.
        if (node.op == "Optional" && node.domain.empty()) {
          node.attributes[a.name()] = a.tp().SerializeAsString();
          return {};
        }
        break;
      default:
        break;
    }
    return LoadError(
        ErrorCode::kUnsupported, "onnx.attribute",
        "attribute " + a.name() + " is of a kind that is not supported (" + std::to_string(a.type()) + ")");
  }

  Status AddSubgraph(proto::AttributeProto& attribute, Scope& scope, Node& node) {
    Scope inner;
    inner.outer = &scope;
    PT_ASSIGN(Graph graph, Build(*attribute.mutable_g(), inner));
    Subgraph subgraph;
    subgraph.attribute = attribute.name();
    for (const std::string& name : inner.captured) {
      const ValueId outside = scope.values.at(name);
      // Branches that read the same outer value share one input of the node.
      uint32_t index = node.formal_inputs;
      while (index < node.inputs.size() && node.inputs[index] != outside) ++index;
      if (index == node.inputs.size()) node.inputs.push_back(outside);
      subgraph.captures.push_back(index);
    }
    subgraph.graph = std::make_shared<const Graph>(std::move(graph));
    node.subgraphs.push_back(std::move(subgraph));
    return {};
  }

  const ModelTensors& tensors_;
  const Limits& limits_;
  int64_t opset_ = 0;
  std::map<std::string, int64_t> domains_;
};

}  // namespace

Result<Graph> GraphFromProto(proto::ModelProto& model, const ModelTensors& tensors, const Limits& limits) {
  Scope scope;
  return Builder(model, tensors, limits).Build(*model.mutable_graph(), scope);
}

}  // namespace pt
