#include "lib/onnx/contrib.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <limits>
#include <map>

#include "lib/onnx/contrib/domain.h"
#include "lib/onnx/contrib/rewrite.h"
#include "lib/onnx/nested_nodes.h"
#include "lib/onnx/old_operators.h"
#include "lib/onnx/opset_domain.h"
#include "partitiontuner/onnx/load_onnx.h"

namespace pt {
namespace {

using contrib::Row;

// By domain and name.
using Key = std::pair<std::string_view, std::string_view>;

const std::map<Key, Row>& Table() {
  static const std::map<Key, Row> table = [] {
    std::map<Key, Row> rows;
    for (const auto family :
         {contrib::ActivationRows, contrib::AttentionRows, contrib::Bnb4ProductRows, contrib::CropAndResizeRows,
          contrib::ExperimentalRows, contrib::ExpertRows, contrib::GroupedAttentionRows, contrib::MlFeatureRows,
          contrib::MlLinearRows, contrib::MlModelRows, contrib::NormalizationRows, contrib::PackedGatherRows,
          contrib::PackedProductRows, contrib::ProductRows, contrib::QuantizedProductRows,
          contrib::QuantizedRecurrenceRows, contrib::QuantizedRows, contrib::RenamedRows,
          contrib::RotaryEmbeddingRows}) {
      for (Row& row : family()) rows.emplace(Key(row.domain, row.op), std::move(row));
    }
    return rows;
  }();
  return table;
}

const Row* RowOf(const std::string& op, const std::string& domain) {
  const auto at = Table().find(Key(domain, op));
  return at == Table().end() ? nullptr : &at->second;
}

// ---- operators in the default domain ----

// Those that ONNX Runtime takes there: at any opset, before ONNX defined them, or while ONNX had them on trial.
bool IsStray(const proto::NodeProto& node, int64_t opset) {
  static const std::map<std::string_view, int64_t> before = {
      {"Affine", 10},
      {"Crop", 10},
      {"DynamicSlice", 10},
      {"ImageScaler", 10},
      {"LayerNormalization", 17},
      {"ParametricSoftplus", 10},
      {"Scale", 10},
      {"ScaledTanh", 10},
      {"SimplifiedLayerNormalization", std::numeric_limits<int64_t>::max()}};
  if (!IsDefaultDomain(node.domain())) return false;
  const auto at = before.find(node.op_type());
  return at != before.end() && opset < at->second;
}

// Of a model or a function.
template <typename Owner, typename NodesOf>
void MoveStrays(Owner& owner, NodesOf& nodes) {
  const int64_t opset = DefaultOpset(owner).value_or(kTargetOpset);
  bool moved = false;
  VisitNodes(nodes, [&](proto::NodeProto& node) {
    if (!IsStray(node, opset)) return;
    node.set_domain(contrib::kDomain);
    moved = true;
  });
  const bool imported = std::any_of(owner.opset_import().begin(), owner.opset_import().end(),
                                    [](const auto& import) { return import.domain() == contrib::kDomain; });
  if (moved && !imported) {
    auto* import = owner.add_opset_import();
    import->set_domain(contrib::kDomain);
    import->set_version(1);
  }
}

// ---- the table against a node ----

bool IsOptional(std::string_view name) { return name.back() == '?' || name.back() == '*'; }
std::string Plain(std::string_view name) {
  if (IsOptional(name)) name.remove_suffix(1);
  if (name.front() == '-') name.remove_prefix(1);
  return std::string(name);
}

Status CheckInputs(const Row& row, const proto::NodeProto& node) {
  const auto given = static_cast<size_t>(node.input_size());
  const bool any = !row.inputs.empty() && row.inputs.back().back() == '*';
  if (given > row.inputs.size() && !any) {
    return contrib::Rewrite::Invalid("it has " + std::to_string(given) + " inputs; " + std::string(row.op) + " takes " +
                                     std::to_string(row.inputs.size()) + " at most");
  }
  for (size_t i = 0; i < std::max(given, row.inputs.size()); ++i) {
    const std::string_view name = row.inputs[std::min(i, row.inputs.size() - 1)];
    const bool absent = i >= given || node.input(static_cast<int>(i)).empty();
    if (absent && (!IsOptional(name) || (name.back() == '*' && i < given)))
      return contrib::Rewrite::Invalid("its input " + Plain(name) + " is missing");
  }
  return {};
}

Status CheckOutputs(const Row& row, const proto::NodeProto& node) {
  for (int i = 0; i < node.output_size(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (at >= row.outputs.size()) {
      return contrib::Rewrite::Invalid("it has " + std::to_string(node.output_size()) + " outputs; " +
                                       std::string(row.op) + " makes " + std::to_string(row.outputs.size()) +
                                       " at most");
    }
    if (row.outputs[at].front() == '-' && !node.output(i).empty())
      return contrib::Rewrite::Unsupported("its output " + Plain(row.outputs[at]) + " is not supported");
  }
  return {};
}

Status CheckAttributes(const Row& row, const proto::NodeProto& node) {
  for (const proto::AttributeProto& attribute : node.attribute()) {
    const std::string label = "attribute " + attribute.name();
    const auto known = std::find_if(row.attributes.begin(), row.attributes.end(),
                                    [&](const auto& a) { return a.name == attribute.name(); });
    if (known == row.attributes.end()) return contrib::Rewrite::Invalid(std::string(row.op) + " has no " + label);
    if (attribute.type() != known->type) {
      return contrib::Rewrite::Invalid("its " + label + " is of type " +
                                       proto::AttributeProto::AttributeType_Name(attribute.type()) + "; " +
                                       proto::AttributeProto::AttributeType_Name(known->type) + " is expected");
    }
  }
  for (const contrib::AttributeRow& needed : row.attributes) {
    const bool given = std::any_of(node.attribute().begin(), node.attribute().end(),
                                   [&](const auto& attribute) { return attribute.name() == needed.name; });
    if (needed.needed && !given)
      return contrib::Rewrite::Invalid("its attribute " + std::string(needed.name) + " is missing");
  }
  return {};
}

// Of a node in a model of opset `own` that is to become one of opset `to`.
OldOperator OldOf(const proto::NodeProto& node, int64_t own, int64_t to) {
  const auto opset = OpsetOf(node, own);
  return opset && *opset != to ? FindOldOperator(node.op_type(), *opset) : nullptr;
}

class Expansion {
 public:
  Expansion(proto::ModelProto& model, ModelTensors& tensors, const Limits& limits, int64_t to)
      : opset_(DefaultOpset(model).value_or(kTargetOpset)),
        to_(to),
        model_{*model.mutable_graph(), tensors, FreshNames(model.graph()), limits} {}

  Status Expand(proto::GraphProto& graph, const KnownTypes* outer) {
    const KnownTypes types(graph, outer);
    Nodes expanded;
    expanded.Reserve(graph.node_size());
    for (proto::NodeProto& node : *graph.mutable_node()) {
      for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) PT_CHECK_OK(Expand(*attribute.mutable_g(), &types));
        for (proto::GraphProto& inner : *attribute.mutable_graphs()) PT_CHECK_OK(Expand(inner, &types));
      }
      const Row* row = RowOf(node.op_type(), node.domain());
      const OldOperator old = OldOf(node, opset_, to_);
      if (row == nullptr && old == nullptr) {
        expanded.Add()->Swap(&node);
      } else if (Status status = ExpandNode(row, old, node, types, expanded); !status.ok()) {
        Error error = std::move(status).error();
        error.node = NodeLabel(node, SourceOf(node).index);
        return error;
      }
    }
    nodes_ += static_cast<uint64_t>(expanded.size());
    if (model_.limits.nodes != 0 && nodes_ > model_.limits.nodes) {
      return LoadError(ErrorCode::kInvalidInput, "onnx.limit",
                       "with its operators spelled out the model has more nodes than the limit of " +
                           std::to_string(model_.limits.nodes));
    }
    graph.mutable_node()->Swap(&expanded);
    return {};
  }

 private:
  Status ExpandNode(const Row* row, OldOperator old, const proto::NodeProto& node, const KnownTypes& types,
                    Nodes& expanded) {
    contrib::Rewrite rewrite(node, types, model_, expanded);
    if (row == nullptr) return old(rewrite);  // libonnx has checked the node
    if (row->domain == contrib::kDomain) {
      PT_CHECK_OK(CheckInputs(*row, node));
      PT_CHECK_OK(CheckOutputs(*row, node));
      PT_CHECK_OK(CheckAttributes(*row, node));
    }
    return row->expand(rewrite);
  }

  int64_t opset_, to_;  // of the default domain, before and after conversion
  contrib::RewrittenModel model_;
  uint64_t nodes_ = 0;
};

}  // namespace

void MoveStrayContrib(proto::ModelProto& model) {
  MoveStrays(model, *model.mutable_graph()->mutable_node());
  for (proto::FunctionProto& function : *model.mutable_functions()) MoveStrays(function, function);
}

bool UsesContrib(const proto::ModelProto& model) {
  return AnyNode(model.graph().node(),
                 [](const proto::NodeProto& node) { return RowOf(node.op_type(), node.domain()) != nullptr; });
}

bool UsesOldOperators(const proto::ModelProto& model, int64_t to) {
  const int64_t opset = DefaultOpset(model).value_or(kTargetOpset);
  return AnyNode(model.graph().node(), [&](const proto::NodeProto& node) { return OldOf(node, opset, to) != nullptr; });
}

std::map<std::pair<std::string, std::string>, proto::OpSchema> ContribSchemas() {
  std::map<std::pair<std::string, std::string>, proto::OpSchema> schemas;
  for (const auto& [key, row] : Table()) {
    const std::string domain(key.first), op(key.second);
    proto::OpSchema& schema = schemas[{domain, op}];
    schema.SetName(op).SetDomain(domain).SinceVersion(1);
    schema.TypeAndShapeInferenceFunction(row.infer);
  }
  return schemas;
}

Status SpellOut(proto::ModelProto& model, ModelTensors& tensors, const Limits& limits, int64_t to) {
  for (const auto& import : model.opset_import()) {
    if (import.domain() != contrib::kDomain || import.version() == 1) continue;
    return LoadError(
        ErrorCode::kUnsupported, "onnx.contrib",
        "version " + std::to_string(import.version()) + " of domain " + contrib::kDomain + " is not supported: 1 is");
  }
  return Expansion(model, tensors, limits, to).Expand(*model.mutable_graph(), nullptr);
}

}  // namespace pt
