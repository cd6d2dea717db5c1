#include "lib/onnx/complete_model.h"

#include <onnx/defs/schema.h>

#include <algorithm>

#include "lib/onnx/contrib/domain.h"
#include "lib/onnx/definitions.h"
#include "lib/onnx/fresh_names.h"
#include "lib/onnx/nested_nodes.h"
#include "lib/onnx/opset_domain.h"
#include "lib/onnx/sources.h"
#include "partitiontuner/onnx/load_onnx.h"

namespace pt {
namespace {

using contrib::kMlDomain;

void CompleteGraph(proto::GraphProto& graph) {
  if (graph.name().empty()) graph.set_name("graph");
  graph.clear_quantization_annotation();
}

void CompleteAttribute(proto::AttributeProto& attribute) {
  if (attribute.has_g()) CompleteGraph(*attribute.mutable_g());
  for (auto& graph : *attribute.mutable_graphs()) CompleteGraph(graph);
}

// What a Loop carries may have other dims after each trip. Exporters declare those of the first one, or none where
// there is one (PaddlePaddle's scalars): what holds follows from what goes in.
void ForgetCarriedDims(proto::NodeProto& loop) {
  const auto forget = [](proto::ValueInfoProto& value) {
    if (value.type().has_tensor_type()) value.mutable_type()->mutable_tensor_type()->clear_shape();
  };
  const int carried = std::max(loop.input_size() - 2, 0);
  for (auto& attribute : *loop.mutable_attribute()) {
    if (attribute.name() != "body" || !attribute.has_g()) continue;
    proto::GraphProto& body = *attribute.mutable_g();
    for (int i = 2; i < std::min(carried + 2, body.input_size()); ++i) forget(*body.mutable_input(i));
    for (int i = 1; i < std::min(carried + 1, body.output_size()); ++i) forget(*body.mutable_output(i));
  }
}

void CompleteNode(proto::NodeProto& node) {
  if (node.domain() == "ai.onnx") node.set_domain("");
  if (node.op_type() == "Loop" && node.domain().empty()) ForgetCarriedDims(node);
  for (auto& attribute : *node.mutable_attribute()) CompleteAttribute(attribute);
}

// ---- imports ----

template <typename Owner>
bool Imports(const Owner& owner, const std::string& domain) {
  return std::any_of(owner.opset_import().begin(), owner.opset_import().end(),
                     [&](const auto& import) { return import.domain() == domain; });
}

template <typename Owner>
void Import(Owner& owner, const std::string& domain, int64_t version) {
  auto* import = owner.add_opset_import();
  import->set_domain(domain);
  import->set_version(version);
}

Error NotImported(const proto::NodeProto& node, const std::string& what, const std::string& domain) {
  return LoadError(
      ErrorCode::kInvalidInput, "onnx.opset",
      what + " does not import domain " + domain + ", and " + node.op_type() + " has several versions there",
      NodeLabel(node, SourceOf(node).index));
}

// The newest version, where all operators that the nodes use of it have had one definition only.
Result<int64_t> OnlyMlVersion(const Nodes& nodes, const std::string& what) {
  const int newest = proto::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at(kMlDomain).second;
  const proto::NodeProto* several = nullptr;
  AnyNode(nodes, [&](const proto::NodeProto& node) {
    if (node.domain() != kMlDomain) return false;
    const auto* schema = DefinitionOf(node.op_type(), newest, kMlDomain);
    if (schema != nullptr && schema->since_version() > 1 &&
        DefinitionOf(node.op_type(), schema->since_version() - 1, kMlDomain) != nullptr)
      several = &node;
    return several != nullptr;
  });
  if (several != nullptr) return NotImported(*several, what, kMlDomain);
  return newest;
}

// Of a model or a function.
template <typename Owner>
Status CompleteImports(Owner& owner, const Nodes& nodes, const std::string& what, std::vector<std::string>& warnings) {
  const auto uses = [&](const std::string& domain) {
    return AnyNode(nodes, [&](const proto::NodeProto& node) { return node.domain() == domain; });
  };
  const auto import = [&](const std::string& domain, int64_t version) {
    Import(owner, domain, version);
    warnings.push_back(what + " does not import domain " + domain + "; version " + std::to_string(version) +
                       " is taken");
  };
  if (!Imports(owner, contrib::kDomain) && uses(contrib::kDomain)) import(contrib::kDomain, 1);
  if (!Imports(owner, kMlDomain) && uses(kMlDomain)) {
    PT_ASSIGN(const int64_t version, OnlyMlVersion(nodes, what));
    import(kMlDomain, version);
  }
  return {};
}

// Subgraphs' initialisers are Constant nodes, which mean the same in all opsets; nothing else of the default domain
// does.
Status CompleteDefaultImport(proto::ModelProto& model) {
  if (Imports(model, "")) return {};
  const proto::NodeProto* asks = nullptr;
  AnyNode(model.graph().node(), [&](const proto::NodeProto& node) {
    if (IsDefaultDomain(node.domain()) && node.op_type() != "Constant") asks = &node;
    return asks != nullptr;
  });
  if (asks != nullptr) return NotImported(*asks, "the model", "ai.onnx");
  Import(model, "", kTargetOpset);
  return {};
}

// ---- inputs ----

// Until opset 13 Resize needed a roi and scales; exporters leave out what it does not read.
void CompleteResize(proto::NodeProto& node, const std::string& empty) {
  const bool reads_roi = std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& attribute) {
    return attribute.name() == "coordinate_transformation_mode" && attribute.s() == "tf_crop_and_resize";
  });
  for (const int input : {1, 2}) {
    if (input >= node.input_size() || !node.input(input).empty() || (input == 1 && reads_roi)) continue;
    node.set_input(input, empty);
  }
}

bool IsResizeWithGaps(const proto::NodeProto& node) {
  if (node.op_type() != "Resize" || !IsDefaultDomain(node.domain())) return false;
  for (int i = 1; i < std::min(node.input_size(), 3); ++i) {
    if (node.input(i).empty()) return true;
  }
  return false;
}

void AddEmptyTensor(Nodes& nodes, const std::string& name) {
  Nodes old;
  old.Swap(&nodes);
  proto::NodeProto& node = *nodes.Add();
  node.set_op_type("Constant");
  node.add_output(name);
  auto* value = node.add_attribute();
  value->set_name("value");
  value->set_type(proto::AttributeProto::TENSOR);
  value->mutable_t()->set_data_type(proto::TensorProto::FLOAT);
  value->mutable_t()->add_dims(0);
  for (proto::NodeProto& moved : old) nodes.Add()->Swap(&moved);
}

// Of a model or a function.
template <typename Owner>
void CompleteResizes(const Owner& owner, Nodes& nodes, FreshNames fresh) {
  const auto opset = DefaultOpset(owner);
  if (!opset || *opset < 11 || *opset > 12 || !AnyNode(nodes, IsResizeWithGaps)) return;
  const std::string empty = fresh.Make("no_roi");
  VisitNodes(nodes, [&](proto::NodeProto& node) {
    if (IsResizeWithGaps(node)) CompleteResize(node, empty);
  });
  AddEmptyTensor(nodes, empty);
}

// ---- operators that were withdrawn ----

// libonnx's checker refuses GroupNormalization of opset 18 to 20, whose scale and bias are of groups, because later
// ones are another operator; its converter knows what it becomes.
template <typename Owner, typename NodesOf>
void KeepGroupNormalization(const Owner& owner, NodesOf& nodes) {
  const auto opset = DefaultOpset(owner);
  if (!opset || *opset < 18 || *opset > 20) return;
  VisitNodes(nodes, [&](proto::NodeProto& node) {
    if (node.op_type() == "GroupNormalization" && IsDefaultDomain(node.domain())) node.set_domain(OpsetDomain(*opset));
  });
}

}  // namespace

Status CompleteModel(proto::ModelProto& model, std::vector<std::string>& warnings) {
  Nodes& nodes = *model.mutable_graph()->mutable_node();
  CompleteGraph(*model.mutable_graph());
  VisitNodes(nodes, CompleteNode);
  model.clear_training_info();
  // Initialisers need not be inputs any more: they have been dropped there.
  if (model.ir_version() < 4) model.set_ir_version(4);
  PT_CHECK_OK(CompleteDefaultImport(model));
  PT_CHECK_OK(CompleteImports(model, nodes, "the model", warnings));
  CompleteResizes(model, nodes, FreshNames(model.graph()));
  KeepGroupNormalization(model, nodes);
  for (proto::FunctionProto& function : *model.mutable_functions()) {
    const std::string what = "function " + function.domain() + "." + function.name();
    Nodes& body = *function.mutable_node();
    for (auto& attribute : *function.mutable_attribute_proto()) CompleteAttribute(attribute);
    VisitNodes(function, CompleteNode);
    PT_CHECK_OK(CompleteImports(function, body, what, warnings));
    CompleteResizes(function, body, FreshNames(function));
    KeepGroupNormalization(function, function);
  }
  return {};
}

}  // namespace pt
