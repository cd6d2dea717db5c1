#include "partitiontuner/onnx/infer_shapes.h"

#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "lib/onnx/definitions.h"
#include "lib/onnx/inference_schemas.h"
#include "lib/onnx/node_to_proto.h"
#include "lib/onnx/tensor_to_proto.h"
#include "lib/onnx/value_types.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/support/closest_word.h"
#include "partitiontuner/support/dims_text.h"

namespace pt {
namespace {

Error UsageError(std::string message, std::string hint) {
  return MakeError(ErrorCode::kUsage, "shape.override", std::move(message), std::move(hint));
}

// ---- overrides ----

std::string InputList(const Graph& graph) {
  std::string text = "inputs:";
  for (ValueId id : graph.inputs()) text += " " + graph.value(id).name + " " + ToString(graph.value(id).type);
  return text;
}

Status CheckOverride(const Graph& graph, const std::string& name, const std::vector<int64_t>& dims,
                     std::map<std::string, int64_t>& bound) {
  const auto wrong = [&](const std::string& why) {
    return UsageError("shape " + DimsText(dims) + " for \"" + name + "\": " + why, InputList(graph));
  };
  const auto at = std::find_if(graph.inputs().begin(), graph.inputs().end(),
                               [&](ValueId id) { return graph.value(id).name == name; });
  if (at == graph.inputs().end()) {
    std::vector<std::string_view> names;
    for (const ValueId id : graph.inputs()) names.push_back(graph.value(id).name);
    const std::string_view closest = ClosestWord(name, names);
    return wrong("the model has no such input" +
                 (closest.empty() ? std::string() : "; did you mean \"" + std::string(closest) + "\"?"));
  }
  const ValueType& type = graph.value(*at).type;
  if (!type.other.empty()) return wrong("the input is not a tensor but a " + type.other);
  if (type.ranked && type.dims.size() != dims.size())
    return wrong("the input has rank " + std::to_string(type.dims.size()));
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < 0) return wrong("dim " + std::to_string(axis) + " is negative");
    if (!type.ranked) continue;
    const Dim& dim = type.dims[axis];
    if (dim.known() && dim.value != dims[axis])
      return wrong("the model says " + std::to_string(dim.value) + " for dim " + std::to_string(axis));
    if (dim.known() || dim.name.empty()) continue;
    const auto [other, is_new] = bound.emplace(dim.name, dims[axis]);
    if (!is_new && other->second != dims[axis])
      return wrong("dim \"" + dim.name + "\" is " + std::to_string(other->second) + " elsewhere");
  }
  return {};
}

// The types of the inputs with the overrides applied.
Result<std::vector<ValueType>> SpecialiseInputs(const Graph& graph, const ShapeOverrides& overrides) {
  std::set<std::string> named;
  for (ValueId id : graph.inputs()) {
    for (const Dim& d : graph.value(id).type.dims) {
      if (!d.known() && !d.name.empty()) named.insert(d.name);
    }
  }
  std::map<std::string, int64_t> bound;
  for (const auto& [name, value] : overrides.dims) {
    if (value < 0) return UsageError("dim \"" + name + "\" cannot be " + std::to_string(value), {});
    if (!named.contains(name)) return UsageError("no input has a dim named \"" + name + "\"", InputList(graph));
    bound[name] = value;
  }
  for (const auto& [name, dims] : overrides.inputs) PT_CHECK_OK(CheckOverride(graph, name, dims, bound));

  std::vector<ValueType> types;
  for (ValueId id : graph.inputs()) {
    ValueType type = graph.value(id).type;
    const auto given = overrides.inputs.find(graph.value(id).name);
    if (given != overrides.inputs.end()) {
      type.ranked = true;
      type.dims.clear();
      for (int64_t d : given->second) type.dims.push_back({d, {}});
    }
    for (Dim& d : type.dims) {
      const auto at = d.known() ? bound.end() : bound.find(d.name);
      if (at != bound.end()) d = {at->second, {}};
    }
    types.push_back(std::move(type));
  }
  return types;
}

// ---- to ONNX ----

constexpr const char* kUnseenDomain = "pt.unseen";  // libonnx passes over nodes of domains it does not know
constexpr const char* kMainPrefix = "v";            // of the values of the main graph
constexpr const char* kNodePrefix = "n";            // of its nodes

// Writes a graph as libonnx wants to see it. Values are named by id, which is unique even where the
// file's names are not or are missing; a subgraph's captured values have the name they have
// outside.
class ShapeWriter {
 public:
  ShapeWriter(const Graph& graph, bool with_subgraphs) : with_subgraphs_(with_subgraphs) {
    for (const auto& [domain, version] : graph.domains()) versions_[domain] = static_cast<int>(version);
    versions_[""] = static_cast<int>(graph.opset());
  }

  // input_types (empty: the graph's own) stand in for the types of the graph's inputs.
  void Write(const Graph& graph, std::span<const ValueType> input_types, const std::string& prefix,
             std::vector<std::string> names, proto::GraphProto& to) {
    to.set_name("g");
    names.resize(graph.values().size());  // those of captured values are given
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) names[i] = prefix + std::to_string(i);
    }
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const ValueId id = graph.inputs()[i];
      auto* info = to.add_input();
      info->set_name(names[id.index()]);
      TypeToProto(input_types.empty() ? graph.value(id).type : input_types[i], *info->mutable_type());
    }
    // A nested graph alone: nothing outside says what it captures.
    for (size_t i = 0; prefix == kMainPrefix && i < graph.captured().size(); ++i) {
      const ValueId id = graph.captured()[i];
      auto* info = to.add_input();
      info->set_name(names[id.index()]);
      TypeToProto(graph.value(id).type, *info->mutable_type());
    }
    for (size_t i = 0; i < graph.values().size(); ++i) {
      if (graph.values()[i].is_constant()) AddConstant(*graph.values()[i].constant, names[i], to);
    }
    for (size_t i = 0; i < graph.nodes().size(); ++i) AddNode(graph, NodeId(i), names, prefix, to);
    for (ValueId id : graph.outputs()) {
      auto* info = to.add_output();
      info->set_name(names[id.index()]);
      // libonnx finds the types of what nodes make.
      if (!graph.value(id).producer.valid()) TypeToProto(graph.value(id).type, *info->mutable_type());
    }
  }

 private:
  // Large tensors without their data.
  static void FillSmall(const Tensor& tensor, proto::TensorProto& to) {
    if (IsSmall(tensor)) {
      TensorToProto(tensor, to);
    } else {
      DescribeTensor(tensor, to);
    }
  }

  static void AddConstant(const Tensor& tensor, const std::string& name, proto::GraphProto& to) {
    auto* proto = to.add_initializer();
    proto->set_name(name);
    FillSmall(tensor, *proto);
  }

  void AddNode(const Graph& graph, NodeId id, const std::vector<std::string>& names, const std::string& prefix,
               proto::GraphProto& to) {
    const Node& node = graph.node(id);
    auto* proto = to.add_node();
    NodeToProto(node, names, FillSmall, *proto);
    if (prefix == kMainPrefix) proto->set_name(kNodePrefix + std::to_string(id.value));
    if (!node.subgraphs.empty() && !with_subgraphs_) proto->set_domain(kUnseenDomain);
    for (size_t s = 0; s < node.subgraphs.size(); ++s) {
      const Subgraph& subgraph = node.subgraphs[s];
      proto::GraphProto& inner = AddGraphAttribute(subgraph, *proto);
      if (!with_subgraphs_) continue;
      Write(*subgraph.graph, {}, prefix + std::to_string(id.value) + "_" + std::to_string(s) + "_",
            CapturedNames(node, subgraph, names), inner);
    }
    // Without a definition libonnx knows nothing of the outputs: what is known already helps what
    // follows.
    const auto version = versions_.find(proto->domain());
    if (version != versions_.end() && DefinitionOf(node.op, version->second, node.domain) != nullptr) return;
    for (ValueId output : node.outputs) {
      if (!output.valid() || graph.value(output).is_graph_output) continue;
      auto* info = to.add_value_info();
      info->set_name(names[output.index()]);
      TypeToProto(graph.value(output).type, *info->mutable_type());
    }
  }

  bool with_subgraphs_;
  std::map<std::string, int> versions_;
};

// libonnx copies all that is visible into every subgraph. Where that would take seconds, subgraphs
// are left out.
bool SubgraphsAreAffordable(const Graph& graph) {
  constexpr uint64_t kMostCopies = 4'000'000;
  uint64_t copies = 0;
  const auto count = [&](const auto& self, const Graph& g, uint64_t visible) -> void {
    for (const Node& node : g.nodes()) {
      for (const Subgraph& subgraph : node.subgraphs) {
        copies += visible;
        if (copies <= kMostCopies) self(self, *subgraph.graph, visible + subgraph.graph->values().size());
      }
    }
  };
  count(count, graph, graph.values().size());
  return copies <= kMostCopies;
}

// ---- and back ----

// New knowledge over old: numbers of the new win, the old fill what is unknown.
ValueType Merge(const ValueType& old, const ValueType& found) {
  if (!found.other.empty()) {
    return found.type == DataType::kUndefined && found.other == old.other ? old : found;
  }
  if (found.type == DataType::kUndefined && !found.ranked) return old;
  ValueType merged = found;
  if (merged.type == DataType::kUndefined && old.other.empty()) merged.type = old.type;
  if (!old.other.empty() || !old.ranked) return merged;
  if (!merged.ranked) {
    merged.ranked = true;
    merged.dims = old.dims;
  } else if (merged.dims.size() == old.dims.size()) {
    for (size_t i = 0; i < merged.dims.size(); ++i) {
      if (!merged.dims[i].known() && old.dims[i].known()) merged.dims[i] = old.dims[i];
      if (!merged.dims[i].known() && merged.dims[i].name.empty()) merged.dims[i].name = old.dims[i].name;
    }
  }
  return merged;
}

Result<Graph> ReadBack(const Graph& graph, std::span<const ValueType> input_types, const std::string& prefix,
                       const proto::GraphProto& from, const std::vector<ValueType>& captured);

Result<std::shared_ptr<const Graph>> ReadBackSubgraph(const GraphBuilder& builder, NodeId id, size_t s,
                                                      const std::string& prefix, const proto::GraphProto& from) {
  const Node& node = builder.graph().node(id);
  const Subgraph& subgraph = node.subgraphs[s];
  std::vector<ValueType> captured;
  for (uint32_t index : subgraph.captures) captured.push_back(builder.graph().value(node.inputs[index]).type);
  const std::string inner_prefix = prefix + std::to_string(id.value) + "_" + std::to_string(s) + "_";
  PT_ASSIGN(Graph inner, ReadBack(*subgraph.graph, {}, inner_prefix, from, captured));
  return std::make_shared<const Graph>(std::move(inner));
}

Result<Graph> ReadBack(const Graph& graph, std::span<const ValueType> input_types, const std::string& prefix,
                       const proto::GraphProto& from, const std::vector<ValueType>& captured) {
  GraphBuilder builder(graph);
  for (size_t i = 0; i < input_types.size(); ++i) builder.value(graph.inputs()[i]).type = input_types[i];
  const auto read = [&](const proto::ValueInfoProto& info) {
    if (!info.name().starts_with(prefix)) return;
    const size_t index = std::strtoull(info.name().c_str() + prefix.size(), nullptr, 10);
    if (index >= graph.values().size() || info.name() != prefix + std::to_string(index)) return;
    Value& value = builder.value(ValueId(index));
    if (!value.is_constant()) value.type = Merge(value.type, TypeFromProto(info.type()));
  };
  for (const auto& info : from.value_info()) read(info);
  for (const auto& info : from.output()) read(info);
  for (const auto& info : from.input()) read(info);
  for (size_t i = 0; i < captured.size(); ++i) {
    Value& value = builder.value(graph.captured()[i]);
    value.type = Merge(value.type, captured[i]);
  }
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].subgraphs.empty()) continue;
    const NodeId id(i);
    const proto::NodeProto& node = from.node(static_cast<int>(i));
    for (size_t s = 0; s < graph.node(id).subgraphs.size(); ++s) {
      const int attribute =
          node.attribute_size() - static_cast<int>(graph.node(id).subgraphs.size()) + static_cast<int>(s);
      PT_ASSIGN(auto inner, ReadBackSubgraph(builder, id, s, prefix, node.attribute(attribute).g()));
      builder.node(id).subgraphs[s].graph = std::move(inner);
    }
  }
  return builder.Build();
}

// input_types (empty: the graph's own) stand in for the types of the graph's inputs.
proto::ModelProto ModelOf(const Graph& graph, std::span<const ValueType> input_types, bool with_subgraphs) {
  proto::ModelProto model = ModelWithImports(graph);
  model.set_ir_version(proto::Version::IR_VERSION);
  auto* unseen = model.add_opset_import();
  unseen->set_domain(kUnseenDomain);
  unseen->set_version(1);
  ShapeWriter(graph, with_subgraphs).Write(graph, input_types, kMainPrefix, {}, *model.mutable_graph());
  return model;
}

// Strict: everything libonnx objected to is the error, one line each.
Status Infer(proto::ModelProto& model, bool strict) {
  return Fenced(ErrorCode::kInvalidInput, "onnx.inference", "inferring shapes", [&] {
    const proto::ShapeInferenceOptions options(/*check_type=*/false, /*error_mode=*/strict ? 1 : 0,
                                               /*data_propagation=*/true);
    proto::shape_inference::DataValueMap values;
    proto::shape_inference::InferShapes(model, &InferenceSchemas(), options, &values);
  });
}

}  // namespace

Result<Graph> InferShapes(const Graph& graph, const ShapeOverrides& overrides) {
  PT_ASSIGN(const std::vector<ValueType> input_types, SpecialiseInputs(graph, overrides));
  proto::ModelProto model = ModelOf(graph, input_types, SubgraphsAreAffordable(graph));
  // Whatever libonnx stumbles over, what it found until then is still right.
  (void)Infer(model, /*strict=*/false);
  return ReadBack(graph, input_types, kMainPrefix, model.graph(), {});
}

std::map<NodeId, std::string> ShapeFaults(const Graph& graph) {
  proto::ModelProto model = ModelOf(graph, {}, /*with_subgraphs=*/false);
  const Status status = Infer(model, /*strict=*/true);
  std::map<NodeId, std::string> faults;
  if (status.ok()) return faults;
  // One line a fault: "(op_type:MatMul, node name: n3): [ShapeInferenceError] what".
  const std::string name_mark = std::string("node name: ") + kNodePrefix;
  const std::string what_mark = "): [ShapeInferenceError] ";
  std::istringstream lines(status.error().message);
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.find(name_mark), what = line.find(what_mark);
    if (name == std::string::npos || what == std::string::npos) continue;
    const size_t index = std::strtoull(line.c_str() + name + name_mark.size(), nullptr, 10);
    if (index < graph.nodes().size()) faults.emplace(NodeId(index), line.substr(what + what_mark.size()));
  }
  return faults;
}

std::vector<UnresolvedDim> UnresolvedDims(const Graph& graph) {
  std::vector<UnresolvedDim> unresolved;
  std::set<std::string> named;
  for (ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    if (!value.type.other.empty()) continue;
    if (!value.type.ranked) {
      unresolved.push_back({value.name, -1, {}, "--shape " + value.name + "=Nx3xNxN"});
      continue;
    }
    std::string shape;
    bool unnamed = false;
    for (const Dim& d : value.type.dims) {
      shape += (shape.empty() ? "" : "x") + (d.known() ? std::to_string(d.value) : "N");
      unnamed = unnamed || (!d.known() && d.name.empty());
    }
    for (size_t axis = 0; axis < value.type.dims.size(); ++axis) {
      const Dim& d = value.type.dims[axis];
      if (d.known() || (!d.name.empty() && !named.insert(d.name).second)) continue;
      // One --shape covers an input with an unnamed dim; named ones are given once for all inputs.
      const bool by_name = !d.name.empty() && !unnamed;
      unresolved.push_back({value.name, static_cast<int64_t>(axis), d.name,
                            by_name ? "--dim " + d.name + "=N" : "--shape " + value.name + "=" + shape});
    }
  }
  return unresolved;
}

}  // namespace pt
