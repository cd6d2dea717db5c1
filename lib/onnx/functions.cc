#include "lib/onnx/functions.h"

#include <map>
#include <set>
#include <unordered_map>

#include "lib/onnx/fresh_names.h"
#include "lib/onnx/function_calls.h"
#include "lib/onnx/nested_nodes.h"
#include "lib/onnx/opset_domain.h"
#include "lib/onnx/sources.h"

namespace pt {
namespace {

using AttributeProto = proto::AttributeProto;

Error Invalid(std::string message) { return LoadError(ErrorCode::kInvalidInput, "onnx.function", std::move(message)); }

uint64_t SizeOf(const proto::GraphProto& graph);

// Graphs and nodes within.
uint64_t SizeOf(const AttributeProto& attribute) {
  uint64_t count = attribute.has_g() ? SizeOf(attribute.g()) : 0;
  for (const proto::GraphProto& graph : attribute.graphs()) count += SizeOf(graph);
  return count;
}

uint64_t SizeOf(const proto::GraphProto& graph) {
  auto count = static_cast<uint64_t>(graph.node_size()) + 1;
  for (const proto::NodeProto& node : graph.node()) {
    for (const AttributeProto& attribute : node.attribute()) count += SizeOf(attribute);
  }
  return count;
}

// What the names of one graph of a body are in the model, and those around it.
class Names {
 public:
  explicit Names(const Names* outer = nullptr) : outer_(outer) {}

  void Set(const std::string& name, std::string becomes) { becomes_[name] = std::move(becomes); }
  // Null when nothing here or around defines it.
  const std::string* Find(const std::string& name) const {
    const auto at = becomes_.find(name);
    if (at != becomes_.end()) return &at->second;
    return outer_ == nullptr ? nullptr : outer_->Find(name);
  }

 private:
  std::unordered_map<std::string, std::string> becomes_;
  const Names* outer_;
};

// What a function's attributes are in one call, by name; absent ones are not there.
using Values = std::unordered_map<std::string, AttributeProto>;

struct Function {
  const proto::FunctionProto* proto;
  std::map<std::string, int64_t> versions;  // of the domains that it imports, but for the default one
  std::string domain;                       // of its nodes of the default domain
};

// Writes one call out: a copy of a body with the names and attributes of the call.
class Body {
 public:
  Body(const Function& function, const Values& values, FreshNames& fresh)
      : function_(function), values_(values), fresh_(fresh) {}

  // `names` knows what the node's graph defines.
  Status Write(proto::NodeProto& node, const Names& names) {
    for (std::string& input : *node.mutable_input()) PT_CHECK_OK(Rename(input, names));
    for (std::string& output : *node.mutable_output()) PT_CHECK_OK(Rename(output, names));
    if (!node.name().empty()) node.set_name(fresh_.Make(node.name()));
    google::protobuf::RepeatedPtrField<AttributeProto> bound;
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.ref_attr_name().empty()) {
        PT_CHECK_OK(Bind(attribute, node, bound));
        continue;
      }
      PT_CHECK_OK(WriteGraphs(attribute, names));
      bound.Add()->Swap(&attribute);
    }
    node.mutable_attribute()->Swap(&bound);
    if (IsDefaultDomain(node.domain())) node.set_domain(node.op_type() == "Constant" ? "" : function_.domain);
    return {};
  }

  Status WriteGraphs(AttributeProto& attribute, const Names& around) {
    if (attribute.has_g()) PT_CHECK_OK(WriteGraph(*attribute.mutable_g(), around));
    for (proto::GraphProto& graph : *attribute.mutable_graphs()) PT_CHECK_OK(WriteGraph(graph, around));
    return {};
  }

  void Define(const std::string& name, Names& names) {
    if (!name.empty()) names.Set(name, fresh_.Make(name));
  }

  // Of all graphs that references stood for.
  uint64_t bound_size() const { return bound_size_; }

 private:
  static Status Rename(std::string& name, const Names& names) {
    if (name.empty()) return {};
    const std::string* const becomes = names.Find(name);
    if (becomes == nullptr)
      return LoadError(ErrorCode::kInternal, "onnx.internal", "nothing in a function makes \"" + name + "\"");
    name = *becomes;
    return {};
  }

  Status WriteGraph(proto::GraphProto& graph, const Names& around) {
    Names names(&around);
    for (auto& input : *graph.mutable_input()) {
      Define(input.name(), names);
      PT_CHECK_OK(Rename(*input.mutable_name(), names));
    }
    for (const proto::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) Define(output, names);
    }
    for (proto::NodeProto& node : *graph.mutable_node()) PT_CHECK_OK(Write(node, names));
    for (auto& output : *graph.mutable_output()) PT_CHECK_OK(Rename(*output.mutable_name(), names));
    google::protobuf::RepeatedPtrField<proto::ValueInfoProto> known;
    for (auto& info : *graph.mutable_value_info()) {
      if (names.Find(info.name()) == nullptr) continue;
      PT_CHECK_OK(Rename(*info.mutable_name(), names));
      known.Add()->Swap(&info);
    }
    graph.mutable_value_info()->Swap(&known);
    return {};
  }

  Status Bind(const AttributeProto& reference, const proto::NodeProto& node,
              google::protobuf::RepeatedPtrField<AttributeProto>& bound) {
    const auto value = values_.find(reference.ref_attr_name());
    if (value == values_.end()) return {};
    if (reference.type() != AttributeProto::UNDEFINED && reference.type() != value->second.type()) {
      return Invalid("attribute " + reference.name() + " of " + node.op_type() + " in function " +
                     NameOf(*function_.proto) + " is the function's attribute " + reference.ref_attr_name() +
                     ", which is of type " + AttributeProto::AttributeType_Name(value->second.type()) +
                     " in this call; " + AttributeProto::AttributeType_Name(reference.type()) + " is expected");
    }
    bound_size_ += SizeOf(value->second);
    AttributeProto& made = *bound.Add();
    made = value->second;
    made.set_name(reference.name());
    return {};
  }

  const Function& function_;
  const Values& values_;
  FreshNames& fresh_;
  uint64_t bound_size_ = 0;
};

class Expansion {
 public:
  Expansion(const proto::ModelProto& model, const Limits& limits, std::vector<std::string>& warnings)
      : limits_(limits), warnings_(warnings), fresh_(model.graph()) {
    const int64_t opset = *DefaultOpset(model);
    for (const auto& import : model.opset_import()) versions_[import.domain()] = import.version();
    for (const proto::FunctionProto& proto : model.functions()) {
      Function& function = functions_[KeyOf(proto)];
      function.proto = &proto;
      for (const auto& import : proto.opset_import()) function.versions[import.domain()] = import.version();
      const int64_t own = DefaultOpset(proto).value_or(opset);
      if (own != opset) function.domain = OpsetDomain(own);
    }
  }

  // Calls in the graph and in all graphs within it.
  Status Expand(proto::GraphProto& graph, uint32_t depth) {
    if (limits_.subgraph_depth != 0 && depth > limits_.subgraph_depth) {
      return LoadError(
          ErrorCode::kInvalidInput, "onnx.limit",
          "with functions expanded graphs are nested more than " + std::to_string(limits_.subgraph_depth) + " deep");
    }
    Nodes nodes;
    nodes.Swap(graph.mutable_node());
    graph.mutable_node()->Reserve(nodes.size());
    for (proto::NodeProto& node : nodes) PT_CHECK_OK(ExpandNode(node, graph, depth));
    return {};
  }

 private:
  Status ExpandNode(proto::NodeProto& node, proto::GraphProto& into, uint32_t depth) {
    const auto callee = functions_.find(KeyOf(node));
    if (callee != functions_.end()) {
      if (++calls_ > kDeepestCalls) return TooDeep();
      Status status = ExpandCall(node, callee->second, into, depth);
      --calls_;
      if (status.ok()) return {};
      Error error = std::move(status).error();
      if (error.node.empty()) error.node = NodeLabel(node, SourceOf(node).index);
      return error;
    }
    PT_CHECK_OK(Count(1));
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) PT_CHECK_OK(Expand(*attribute.mutable_g(), depth + 1));
      for (proto::GraphProto& graph : *attribute.mutable_graphs()) PT_CHECK_OK(Expand(graph, depth + 1));
    }
    into.add_node()->Swap(&node);
    return {};
  }

  Status ExpandCall(const proto::NodeProto& call, const Function& function, proto::GraphProto& into, uint32_t depth) {
    const proto::FunctionProto& proto = *function.proto;
    if (call.input_size() > proto.input_size() || call.output_size() > proto.output_size()) {
      return Invalid("the call has " + std::to_string(call.input_size()) + " inputs and " +
                     std::to_string(call.output_size()) + " outputs; function " + NameOf(proto) + " has " +
                     std::to_string(proto.input_size()) + " and " + std::to_string(proto.output_size()));
    }
    PT_CHECK_OK(CheckVersions(function));
    Values values;
    PT_CHECK_OK(Given(call, proto, values));
    Body body(function, values, fresh_);
    for (const AttributeProto& attribute : proto.attribute_proto()) {
      const auto [at, is_absent] = values.emplace(attribute.name(), attribute);
      if (!is_absent) continue;
      PT_CHECK_OK(body.WriteGraphs(at->second, Names()));
    }
    Names names;
    for (int i = 0; i < proto.input_size(); ++i)
      names.Set(proto.input(i), i < call.input_size() ? call.input(i) : std::string());
    for (const proto::NodeProto& node : proto.node()) {
      for (const std::string& output : node.output()) body.Define(output, names);
    }
    std::vector<std::pair<std::string, std::string>> passed;  // what is an output otherwise, and its name in the model
    std::set<std::string> produced;
    for (const proto::NodeProto& node : proto.node()) produced.insert(node.output().begin(), node.output().end());
    for (int i = 0; i < call.output_size(); ++i) {
      if (call.output(i).empty()) continue;
      if (produced.erase(proto.output(i)) > 0) {
        names.Set(proto.output(i), call.output(i));
      } else {
        passed.emplace_back(proto.output(i), call.output(i));
      }
    }
    for (const proto::NodeProto& original : proto.node()) {
      proto::NodeProto node = original;
      PT_CHECK_OK(body.Write(node, names));
      PT_CHECK_OK(CountCopies(body));
      PT_CHECK_OK(ExpandNode(node, into, depth));
    }
    for (const auto& [formal, actual] : passed) PT_CHECK_OK(PassOn(call, formal, *names.Find(formal), actual, into));
    for (const auto& info : proto.value_info()) {
      const std::string* const becomes = names.Find(info.name());
      if (becomes == nullptr || !produced.contains(info.name())) continue;  // the caller declares what is its own
      proto::ValueInfoProto& made = *into.add_value_info();
      made = info;
      made.set_name(*becomes);
    }
    return {};
  }

  // The attributes that the call has.
  Status Given(const proto::NodeProto& call, const proto::FunctionProto& function, Values& values) {
    std::set<std::string> known(function.attribute().begin(), function.attribute().end());
    for (const AttributeProto& attribute : function.attribute_proto()) known.insert(attribute.name());
    for (const AttributeProto& attribute : call.attribute()) {
      if (!known.contains(attribute.name())) {
        warnings_.push_back("a call of function " + NameOf(function) + " has attribute " + attribute.name() +
                            ", which the function does not have");
      }
      if (!values.emplace(attribute.name(), attribute).second)
        return Invalid("the call has attribute " + attribute.name() + " twice");
    }
    return {};
  }

  // An output that is an input of the function, or another output as well.
  Status PassOn(const proto::NodeProto& call, const std::string& formal, const std::string& from, const std::string& to,
                proto::GraphProto& into) {
    if (from.empty()) return Invalid("output " + to + " of the call is its input " + formal + ", which it leaves out");
    PT_CHECK_OK(Count(1));
    proto::NodeProto& node = *into.add_node();
    node.set_op_type("Identity");
    node.add_input(from);
    node.add_output(to);
    SetSource(node, SourceOf(call));
    return {};
  }

  Status CheckVersions(const Function& function) const {
    Status fault;
    AnyNode(function.proto->node(), [&](const proto::NodeProto& node) {
      const auto asked = function.versions.find(node.domain()), has = versions_.find(node.domain());
      if (IsDefaultDomain(node.domain()) || functions_.contains(KeyOf(node))) return false;
      if (asked == function.versions.end() || has == versions_.end() || asked->second == has->second) return false;
      fault = LoadError(ErrorCode::kUnsupported, "onnx.function",
                        "function " + NameOf(*function.proto) + " needs version " + std::to_string(asked->second) +
                            " of domain " + node.domain() + ", the model imports " + std::to_string(has->second));
      return true;
    });
    return fault;
  }

  Status Count(uint64_t nodes) {
    nodes_ += nodes;
    return limits_.nodes != 0 && nodes_ > limits_.nodes ? TooMany() : Status();
  }

  // Graphs that a call gives may double in each function that passes them on.
  Status CountCopies(const Body& body) {
    return limits_.nodes != 0 && body.bound_size() > limits_.nodes ? TooMany() : Status();
  }

  Status TooMany() const {
    return LoadError(
        ErrorCode::kInvalidInput, "onnx.limit",
        "with functions expanded the model has more nodes than the limit of " + std::to_string(limits_.nodes));
  }

  // Deeper than CheckCalls has seen: through graphs that calls give.
  static Error TooDeep() {
    return LoadError(ErrorCode::kInvalidInput, "onnx.limit",
                     "calls of functions are nested deeper than the limit of " + std::to_string(kDeepestCalls));
  }

  const Limits& limits_;
  std::vector<std::string>& warnings_;
  FreshNames fresh_;
  std::map<FunctionKey, Function> functions_;
  std::map<std::string, int64_t> versions_;  // that the model imports
  uint64_t nodes_ = 0;
  int calls_ = 0;  // that are open
};

// Bodies may use domains that the model itself does not import.
void ImportFunctionDomains(proto::ModelProto& model) {
  std::set<std::string> imported;
  for (const auto& import : model.opset_import()) imported.insert(import.domain());
  for (const proto::FunctionProto& function : model.functions()) {
    for (const auto& import : function.opset_import()) {
      if (IsDefaultDomain(import.domain()) || !imported.insert(import.domain()).second) continue;
      *model.add_opset_import() = import;
    }
  }
}

}  // namespace

Result<uint64_t> ExpandFunctions(proto::ModelProto& model, const Limits& limits, std::vector<std::string>& warnings) {
  const auto count = static_cast<uint64_t>(model.functions_size());
  if (count == 0) return count;
  ImportFunctionDomains(model);
  PT_CHECK_OK(Expansion(model, limits, warnings).Expand(*model.mutable_graph(), 0));
  model.clear_functions();
  return count;
}

}  // namespace pt
