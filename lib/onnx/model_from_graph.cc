#include "lib/onnx/model_from_graph.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "lib/onnx/check_model.h"
#include "lib/onnx/check_nodes.h"
#include "lib/onnx/definitions.h"
#include "lib/onnx/fresh_names.h"
#include "lib/onnx/node_to_proto.h"
#include "lib/onnx/repeated_constants.h"
#include "lib/onnx/tensor_to_proto.h"
#include "lib/onnx/value_types.h"
#include "partitiontuner/graph/datum.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/version.h"

namespace pt {
namespace {

// The oldest format that has what the default domain's opset brings, so that old programs read the file too. From the
// table of versions in the ONNX repository (docs/Versioning.md). Formats before 4 want initialisers among the inputs.
struct FormatRow {
  int64_t opset;  // up to this one
  int64_t ir_version;
};
constexpr std::array kFormats = {FormatRow{9, 4},   FormatRow{10, 5},  FormatRow{11, 6},
                                 FormatRow{14, 7},  FormatRow{18, 8},  FormatRow{20, 9},
                                 FormatRow{22, 10}, FormatRow{23, 11}, FormatRow{24, 12}};

int64_t OldestFormat(int64_t opset) {
  const auto row = std::find_if(kFormats.begin(), kFormats.end(), [&](const FormatRow& r) { return opset <= r.opset; });
  return row == kFormats.end() ? static_cast<int64_t>(proto::Version::IR_VERSION) : row->ir_version;
}

// A domain whose operators libonnx knows, all of them.
bool IsOfOnnx(const std::string& domain) {
  return IsDefaultDomain(domain) || proto::OpSchemaRegistry::DomainToVersionRange::Instance().Map().contains(domain);
}

std::string ValueLabel(const Graph& graph, ValueId id, const std::string& what) {
  return what + " \"" + graph.value(id).name + "\" (" + ToString(graph.value(id).type) + ")";
}

class Writer {
 public:
  Writer(const Graph& main, std::vector<TensorToFill>& tensors)
      : opset_(main.opset()), domains_(main.domains()), fresh_(main), tensors_(tensors) {}

  // names: of captured values what they are called outside, else empty.
  Status Write(const Graph& graph, std::vector<std::string> names, bool is_main, proto::GraphProto& to) {
    to.set_name(graph.name().empty() ? "graph" : graph.name());
    const std::unordered_set<ValueId> shared = NameValues(graph, names);
    std::vector<std::string> mine;  // names that this graph has made visible
    const auto show = [&](ValueId id) {
      if (!id.valid() || shared.contains(id)) return;
      const Value& value = graph.value(id);
      visible_.emplace(names[id.index()], value.is_constant() ? &*value.constant : nullptr);
      mine.push_back(names[id.index()]);
    };
    for (const ValueId id : graph.inputs()) show(id);
    PT_CHECK_OK(AddInputs(graph, names, is_main, to));
    for (size_t i = 0; i < graph.values().size(); ++i) {
      const Value& value = graph.values()[i];
      if (!value.is_constant() || shared.contains(ValueId(i))) continue;
      AddInitializer(*value.constant, names[i], to);
      show(ValueId(i));
    }
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      PT_CHECK_OK(AddNode(graph, NodeId(i), names, to));
      for (const ValueId id : graph.nodes()[i].outputs) show(id);
    }
    PT_CHECK_OK(AddOutputs(graph, names, shared, is_main, to));
    for (const Node& node : graph.nodes()) DeclareResults(graph, node, names, to);
    for (const std::string& name : mine) visible_.erase(name);
    return {};
  }
  bool has_identities() const { return has_identities_; }

 private:
  // Gives every value a name that no value before its graph has, as ONNX wants it: what the node around the graph makes
  // may be called as something within. Which constants are those of a graph around this one: they keep that one's name.
  std::unordered_set<ValueId> NameValues(const Graph& graph, std::vector<std::string>& names) {
    names.resize(graph.values().size());
    std::unordered_set<ValueId> shared;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) continue;  // captured
      const Value& value = graph.values()[i];
      names[i] = value.name;
      const auto outer = visible_.find(value.name);
      const bool hides = outer != visible_.end();
      if (hides && value.is_constant() && outer->second != nullptr && SameTensor(*value.constant, *outer->second)) {
        shared.insert(ValueId(i));
      } else if (hides || value.name.empty()) {
        names[i] = fresh_.Make(value.name.empty() ? "value" : value.name);
      }
    }
    return shared;
  }

  static Status CheckBorder(const Graph& graph, ValueId id, const std::string& what) {
    const ValueType& type = graph.value(id).type;
    if (type.type != DataType::kUndefined && IsKindOfDatum(type)) return {};
    return LoadError(ErrorCode::kUnsupported, "onnx.no_type",
                     ValueLabel(graph, id, what) + ": its type is not known, or of a kind that cannot be written",
                     graph.value(id).producer.valid() ? NodeLabel(graph, graph.value(id).producer) : std::string());
  }

  static void Declare(const std::string& name, const ValueType& type, proto::ValueInfoProto& info) {
    info.set_name(name);
    proto::TypeProto written;
    TypeToProto(type, written);
    if (written.value_case() != proto::TypeProto::VALUE_NOT_SET) *info.mutable_type() = std::move(written);
  }

  static Status AddInputs(const Graph& graph, std::span<const std::string> names, bool is_main, proto::GraphProto& to) {
    for (const ValueId id : graph.inputs()) {
      if (is_main) PT_CHECK_OK(CheckBorder(graph, id, "input"));
      Declare(names[id.index()], graph.value(id).type, *to.add_input());
    }
    return {};
  }

  void AddInitializer(const Tensor& tensor, const std::string& name, proto::GraphProto& to) {
    proto::TensorProto& initializer = *to.add_initializer();
    Fill(tensor, initializer, /*is_initializer=*/true);
    initializer.set_name(name);
  }

  void Fill(const Tensor& tensor, proto::TensorProto& to, bool is_initializer) {
    if (tensor.type() == DataType::kString || IsSmall(tensor)) {
      TensorToProto(tensor, to);
    } else {
      DescribeTensor(tensor, to);
      tensors_.push_back({&to, &tensor, is_initializer});
    }
  }

  Status CheckOperator(const Graph& graph, NodeId id) const {
    const Node& node = graph.node(id);
    if (!IsOfOnnx(node.domain)) return {};
    const auto import = domains_.find(node.domain);
    const int64_t version = IsDefaultDomain(node.domain) ? opset_ : import == domains_.end() ? 0 : import->second;
    const proto::OpSchema* schema = DefinitionOf(node.op, version, node.domain);
    if (schema != nullptr && !schema->Deprecated()) return {};
    return LoadError(ErrorCode::kUnsupported, "onnx.no_form",
                     "operator " + node.op + " has no form in ONNX: opset " + std::to_string(version) + " of " +
                         (node.domain.empty() ? "ai.onnx" : node.domain) + " does not have it",
                     NodeLabel(graph, id));
  }

  Status AddNode(const Graph& graph, NodeId id, const std::vector<std::string>& names, proto::GraphProto& to) {
    const Node& node = graph.node(id);
    PT_CHECK_OK(CheckOperator(graph, id));
    proto::NodeProto& written = *to.add_node();
    const auto fill = [&](const Tensor& tensor, proto::TensorProto& t) { Fill(tensor, t, /*is_initializer=*/false); };
    NodeToProto(node, names, fill, written);
    written.set_name(node.name);
    for (const Subgraph& subgraph : node.subgraphs) {
      if (subgraph.graph->opset() != opset_) {
        return LoadError(ErrorCode::kInvalidInput, "onnx.opset",
                         "its graph " + subgraph.attribute + " is of opset " + std::to_string(subgraph.graph->opset()) +
                             ", the model of opset " + std::to_string(opset_),
                         NodeLabel(graph, id));
      }
      PT_CHECK_OK(Write(*subgraph.graph, CapturedNames(node, subgraph, names), /*is_main=*/false,
                        AddGraphAttribute(subgraph, written)));
    }
    return {};
  }

  Status AddOutputs(const Graph& graph, std::span<const std::string> names, const std::unordered_set<ValueId>& shared,
                    bool is_main, proto::GraphProto& to) {
    std::unordered_set<ValueId> listed(graph.captured().begin(), graph.captured().end());
    listed.insert(shared.begin(), shared.end());
    for (const ValueId id : graph.outputs()) {
      if (is_main) PT_CHECK_OK(CheckBorder(graph, id, "output"));
      std::string name = names[id.index()];
      if (!listed.insert(id).second) {
        has_identities_ = true;
        proto::NodeProto& identity = *to.add_node();
        identity.set_op_type("Identity");
        identity.add_input(name);
        name = fresh_.Make(name);
        identity.add_output(name);
      }
      Declare(name, graph.value(id).type, *to.add_output());
    }
    return {};
  }

  // What is known of the results in between.
  static void DeclareResults(const Graph& graph, const Node& node, std::span<const std::string> names,
                             proto::GraphProto& to) {
    for (const ValueId id : node.outputs) {
      if (!id.valid() || graph.value(id).is_graph_output) continue;
      proto::ValueInfoProto info;
      Declare(names[id.index()], graph.value(id).type, info);
      if (info.has_type()) *to.add_value_info() = std::move(info);
    }
  }

  const int64_t opset_;
  const std::map<std::string, int64_t>& domains_;
  FreshNames fresh_;
  std::vector<TensorToFill>& tensors_;
  // The names that the graph being written, and those around it, have defined so far; of constants with their tensor,
  // else null.
  std::unordered_map<std::string, const Tensor*> visible_;
  bool has_identities_ = false;
};

Result<ModelToFill> Make(const Graph& graph) {
  if (!graph.captured().empty()) {
    return LoadError(ErrorCode::kInvalidInput, "onnx.captured",
                     "the graph is a nested one that reads \"" + graph.value(graph.captured().front()).name +
                         "\" from outside: save the graph that holds it");
  }
  if (graph.outputs().empty()) {
    return LoadError(ErrorCode::kInvalidInput, "onnx.no_outputs",
                     "the graph has no outputs: there is nothing to compute");
  }
  ModelToFill made;
  made.model = ModelWithImports(graph);
  made.model.set_producer_name("partitiontuner");
  made.model.set_producer_version(PARTITIONTUNER_VERSION);
  Writer writer(graph, made.tensors);
  PT_CHECK_OK(writer.Write(graph, {}, /*is_main=*/true, *made.model.mutable_graph()));
  int64_t opset = graph.opset();
  if (opset == 0 && writer.has_identities()) {
    opset = kTargetOpset;
    made.model.add_opset_import()->set_version(opset);
  }
  made.model.set_ir_version(OldestFormat(opset));
  PT_CHECK_OK(CheckNodes(made.model));
  for (const TensorToFill& tensor : made.tensors) DescribeAsEmpty(*tensor.to);
  Status valid = CheckModel(made.model);
  for (const TensorToFill& tensor : made.tensors) DescribeTensor(*tensor.from, *tensor.to);
  if (!valid.ok()) return std::move(valid).error();
  return made;
}

}  // namespace

Result<ModelToFill> ModelFromGraph(const Graph& graph) {
  std::optional<Result<ModelToFill>> made;
  PT_CHECK_OK(Fenced(ErrorCode::kInternal, "onnx.internal", "writing a model", [&] { made.emplace(Make(graph)); }));
  return std::move(*made);
}

}  // namespace pt
