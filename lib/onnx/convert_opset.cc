#include "lib/onnx/convert_opset.h"

#include <onnx/defs/schema.h>

#include <unordered_map>
#include <unordered_set>

#include "lib/onnx/convert_scan.h"
#include "lib/onnx/definitions.h"
#include "lib/onnx/fresh_names.h"
#include "lib/onnx/known_types.h"
#include "lib/onnx/nested_nodes.h"
#include "lib/onnx/opset_domain.h"
#include "lib/onnx/sources.h"
#include "lib/onnx/version_converter.h"

namespace pt {
namespace {

bool HasGraphs(const proto::NodeProto& node) {
  for (const proto::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g() || attribute.graphs_size() > 0) return true;
  }
  return false;
}

// The same definition, or one that only allows more.
bool StaysValid(const std::string& op, int64_t from, int64_t to) {
  const proto::OpSchema* definition = DefinitionOf(op, to);
  if (definition == nullptr || definition->Deprecated()) return false;
  return DefinitionOpset(op, from) == definition->since_version() || StaysAsItIs(op, from, to);
}

class Converter {
 public:
  Converter(const proto::ModelProto& model, int64_t from, int64_t to) : from_(from), to_(to), names_(model.graph()) {}

  // Throws what libonnx throws, with the node named.
  void Convert(proto::GraphProto& graph, const KnownTypes* outer) {
    const KnownTypes types(graph, outer);
    Nodes converted;
    converted.Reserve(graph.node_size());
    for (int i = 0; i < graph.node_size(); ++i) {
      proto::NodeProto& node = *graph.mutable_node(i);
      const auto from = OpsetOf(node, from_);
      if (!from) {
        ConvertInside(node, types);
        converted.Add()->Swap(&node);
        continue;
      }
      node.clear_domain();
      if (HasGraphs(node)) {
        // Newer If, Loop and Scan only allow more types. Opset 8's Scan had another meaning.
        ConvertInside(node, types);
        if (node.op_type() == "Scan" && *from < 9) NestScan(node, [&](const auto& base) { return MakeName(base); });
        converted.Add()->Swap(&node);
      } else if (node.op_type() == "Constant" || *from == to_ || StaysValid(node.op_type(), *from, to_)) {
        converted.Add()->Swap(&node);
      } else {
        ConvertNode(node, *from, types, converted);
      }
    }
    graph.mutable_node()->Swap(&converted);
    graph.clear_value_info();  // they may speak of values that are no more
  }

 private:
  struct Pattern {
    Nodes nodes;                                // over the canonical names i0…, o0…
    std::vector<proto::TensorProto> constants;  // that the adapter made
    bool unchanged = false;
  };

  void ConvertInside(proto::NodeProto& node, const KnownTypes& types) {
    for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) Convert(*attribute.mutable_g(), &types);
      for (proto::GraphProto& graph : *attribute.mutable_graphs()) Convert(graph, &types);
    }
  }

  void ConvertNode(proto::NodeProto& node, int64_t from, const KnownTypes& types, Nodes& out) {
    proto::ModelProto canonical;
    std::unordered_map<std::string, std::string> actual;  // canonical name → name in the graph
    MakeCanonical(node, from, types, canonical, actual);
    std::string key;
    canonical.SerializeToString(&key);
    auto at = patterns_.find(key);
    if (at == patterns_.end()) {
      try {
        at = patterns_.emplace(std::move(key), MakePattern(canonical, from)).first;
      } catch (const std::exception& e) {
        const Source source = SourceOf(node);
        throw std::runtime_error("node " + NodeLabel(node, source.index) + ": " + e.what());
      }
    }
    const Pattern& pattern = at->second;
    if (pattern.unchanged) {
      out.Add()->Swap(&node);
      return;
    }
    const Source source = SourceOf(node);
    const auto rename = [&](const std::string& name) -> std::string {
      if (name.empty()) return name;
      const auto known = actual.find(name);
      if (known != actual.end()) return known->second;
      std::string fresh = MakeName(source.first_output);
      actual.emplace(name, fresh);
      return fresh;
    };
    for (const proto::TensorProto& tensor : pattern.constants) {
      proto::NodeProto& made = *out.Add();
      made.set_op_type("Constant");
      made.add_output(rename(tensor.name()));
      auto* value = made.add_attribute();
      value->set_name("value");
      value->set_type(proto::AttributeProto::TENSOR);
      *value->mutable_t() = tensor;
      value->mutable_t()->clear_name();
      SetSource(made, source);
    }
    for (const proto::NodeProto& made_by_adapter : pattern.nodes) {
      proto::NodeProto& made = *out.Add();
      made = made_by_adapter;
      made.set_name(node.name());
      for (std::string& name : *made.mutable_input()) name = rename(name);
      for (std::string& name : *made.mutable_output()) name = rename(name);
      SetSource(made, source);
    }
  }

  std::string MakeName(const std::string& base) { return names_.Make(base + "_opset" + std::to_string(to_)); }

  // A model of that one node, with names by position, so that equal nodes give equal bytes.
  void MakeCanonical(const proto::NodeProto& node, int64_t from, const KnownTypes& types, proto::ModelProto& model,
                     std::unordered_map<std::string, std::string>& actual) const {
    model.set_ir_version(8);
    auto* opset = model.add_opset_import();
    opset->set_domain("");
    opset->set_version(from);
    proto::GraphProto& graph = *model.mutable_graph();
    graph.set_name("node");
    proto::NodeProto& copy = *graph.add_node();
    copy = node;
    copy.clear_name();
    copy.clear_doc_string();
    copy.clear_metadata_props();
    copy.set_domain("");
    const auto add_info = [&](proto::ValueInfoProto& info, const std::string& canonical, const std::string& name) {
      info.set_name(canonical);
      if (const proto::TypeProto* type = types.type(name)) *info.mutable_type() = *type;
    };
    std::unordered_map<std::string_view, std::string> canonical_of;
    for (int i = 0; i < node.input_size(); ++i) {
      const std::string& name = node.input(i);
      if (name.empty()) continue;
      const auto [at, is_new] = canonical_of.emplace(name, "i" + std::to_string(i));
      copy.set_input(i, at->second);
      if (!is_new) continue;
      actual.emplace(at->second, name);
      // Only going down do adapters look into constants; going up, fewer distinct patterns without
      // them.
      const proto::TensorProto* constant = from > to_ ? types.constant(name) : nullptr;
      if (constant != nullptr) {
        proto::TensorProto& tensor = *graph.add_initializer();
        tensor = *constant;
        tensor.set_name(at->second);
      } else {
        add_info(*graph.add_input(), at->second, name);
      }
    }
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      const std::string canonical = "o" + std::to_string(i);
      actual.emplace(canonical, node.output(i));
      copy.set_output(i, canonical);
      add_info(*graph.add_output(), canonical, node.output(i));
    }
  }

  Pattern MakePattern(const proto::ModelProto& canonical, int64_t from) {
    proto::ModelProto converted = VersionConverter(from, to_).Convert(canonical);
    Pattern pattern;
    proto::GraphProto& graph = *converted.mutable_graph();
    // Adapters may rename an output; its position says which it was.
    std::unordered_map<std::string, std::string> back;
    for (int i = 0; i < graph.output_size(); ++i) {
      if (graph.output(i).name() != canonical.graph().output(i).name())
        back[graph.output(i).name()] = canonical.graph().output(i).name();
    }
    std::unordered_set<std::string> given;
    for (const auto& input : canonical.graph().input()) given.insert(input.name());
    for (const auto& tensor : canonical.graph().initializer()) given.insert(tensor.name());
    for (proto::TensorProto& tensor : *graph.mutable_initializer()) {
      if (!given.contains(tensor.name())) pattern.constants.push_back(std::move(tensor));
    }
    const auto rename = [&](std::string& name) {
      const auto at = back.find(name);
      if (at != back.end()) name = at->second;
    };
    for (proto::NodeProto& node : *graph.mutable_node()) {
      for (std::string& name : *node.mutable_input()) rename(name);
      for (std::string& name : *node.mutable_output()) rename(name);
      if (node.domain() == "ai.onnx") node.set_domain("");
      pattern.nodes.Add()->Swap(&node);
    }
    if (pattern.nodes.size() == 1 && pattern.constants.empty()) {
      std::string before, after;
      proto::NodeProto plain = pattern.nodes[0];
      plain.clear_name();
      plain.set_domain("");
      canonical.graph().node(0).SerializeToString(&before);
      plain.SerializeToString(&after);
      pattern.unchanged = before == after;
    }
    return pattern;
  }

  int64_t from_, to_;
  std::unordered_map<std::string, Pattern> patterns_;
  FreshNames names_;
};

}  // namespace

bool NeedsConversion(const proto::ModelProto& model, int64_t from, int64_t to) {
  return AnyNode(model.graph().node(), [&](const proto::NodeProto& node) {
    const auto opset = OpsetOf(node, from);
    return opset && *opset != to && node.op_type() != "Constant" && !StaysValid(node.op_type(), *opset, to);
  });
}

bool HasOtherOpsets(const proto::ModelProto& model) {
  return AnyNode(model.graph().node(),
                 [](const proto::NodeProto& node) { return OpsetOfDomain(node.domain()).has_value(); });
}

std::optional<std::string> ConvertOpset(proto::ModelProto& model, int64_t from, int64_t to) {
  // The graph's tensors are small here, so the copy that makes failure harmless is cheap.
  proto::GraphProto converted;
  const Status status = Fenced(ErrorCode::kUnsupported, "onnx.convert", "converting", [&] {
    converted = model.graph();
    proto::ModelProto whole;
    whole.mutable_graph()->Swap(&converted);
    Converter(whole, from, to).Convert(*whole.mutable_graph(), nullptr);
    whole.mutable_graph()->Swap(&converted);
  });
  if (!status.ok()) return status.error().message;
  model.mutable_graph()->Swap(&converted);
  for (auto& import : *model.mutable_opset_import()) {
    if (IsDefaultDomain(import.domain())) import.set_version(to);
  }
  return std::nullopt;
}

}  // namespace pt
