#include "lib/onnx/model_names.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "lib/onnx/sources.h"
#include "partitiontuner/graph/topological_order.h"

namespace pt {
namespace {

constexpr uint32_t kNoNode = UINT32_MAX;

// Where a name comes from within one graph.
struct Definition {
  uint32_t node = kNoNode;  // kNoNode: an input or initialiser
  const char* kind = "input";
};

// A name that a graph reads from outside, with the first node that does.
struct FreeName {
  std::string_view name;
  std::string node;
};

std::string Describe(const Definition& definition, const Nodes& nodes) {
  return definition.node == kNoNode
             ? std::string(definition.kind)
             : "output of node " + NodeLabel(nodes[static_cast<int>(definition.node)], definition.node);
}

// One graph or function body; `nodes` is sorted in place.
class Body {
 public:
  Body(Nodes& nodes, std::string what) : nodes_(nodes), what_(std::move(what)) {}

  Status Define(const std::string& name, Definition definition) {
    if (name.empty()) {
      if (definition.node != kNoNode) return {};  // an optional output that is not wanted
      return LoadError(ErrorCode::kInvalidInput, "onnx.name",
                       "an " + std::string(definition.kind) + " of " + what_ + " has no name");
    }
    const auto [at, is_new] = defined_.emplace(name, definition);
    if (is_new) return {};
    return LoadError(ErrorCode::kInvalidInput, "onnx.duplicate",
                     "value \"" + name + "\" is defined twice in " + what_ + ": as " + Describe(at->second, nodes_) +
                         " and as " + Describe(definition, nodes_));
  }
  Status DefineOutputs() {
    for (int i = 0; i < nodes_.size(); ++i) {
      for (const std::string& output : nodes_[i].output())
        PT_CHECK_OK(Define(output, {static_cast<uint32_t>(i), "output"}));
    }
    return {};
  }
  bool defines(const std::string& name) const { return defined_.contains(name); }

  // Sorts; what this body reads from outside is appended to `free`, each name once.
  Status Sort(std::vector<FreeName>& free);

  const std::string& what() const { return what_; }

 private:
  Nodes& nodes_;
  std::string what_;
  std::unordered_map<std::string_view, Definition> defined_;
};

Status SortGraph(proto::GraphProto& graph, const std::string& what, std::vector<FreeName>& free) {
  Body body(*graph.mutable_node(), what);
  for (const auto& input : graph.input()) PT_CHECK_OK(body.Define(input.name(), {kNoNode, "input"}));
  for (const auto& tensor : graph.initializer()) PT_CHECK_OK(body.Define(tensor.name(), {kNoNode, "initialiser"}));
  PT_CHECK_OK(body.DefineOutputs());
  PT_CHECK_OK(body.Sort(free));
  std::unordered_set<std::string_view> outputs;
  for (const auto& output : graph.output()) {
    if (!body.defines(output.name())) {
      return LoadError(ErrorCode::kInvalidInput, "onnx.missing",
                       "output \"" + output.name() + "\" of " + what + " is made by nothing in it");
    }
    if (!outputs.insert(output.name()).second) {
      return LoadError(ErrorCode::kInvalidInput, "onnx.duplicate",
                       "output \"" + output.name() + "\" of " + what + " is listed twice");
    }
  }
  return {};
}

Status Body::Sort(std::vector<FreeName>& free) {
  std::vector<uint32_t> first, edges;
  std::unordered_set<std::string_view> free_here;
  bool in_order = true;
  const auto read = [&](std::string_view name, uint32_t reader, const std::string& label) {
    const auto at = defined_.find(name);
    if (at == defined_.end()) {
      if (free_here.insert(name).second)
        free.push_back({name, label.empty() ? NodeLabel(nodes_[static_cast<int>(reader)], reader) : label});
    } else if (at->second.node != kNoNode) {
      edges.push_back(at->second.node);
      in_order = in_order && at->second.node < reader;
    }
  };
  std::vector<FreeName> inner;
  for (int i = 0; i < nodes_.size(); ++i) {
    const auto reader = static_cast<uint32_t>(i);
    first.push_back(static_cast<uint32_t>(edges.size()));
    for (const std::string& input : nodes_[i].input()) {
      if (!input.empty()) read(input, reader, {});
    }
    for (proto::AttributeProto& attribute : *nodes_[i].mutable_attribute()) {
      inner.clear();
      const auto sort_inner = [&](proto::GraphProto& graph) {
        return SortGraph(graph, "subgraph " + attribute.name() + " of node " + NodeLabel(nodes_[i], reader), inner);
      };
      if (attribute.has_g()) PT_CHECK_OK(sort_inner(*attribute.mutable_g()));
      for (proto::GraphProto& graph : *attribute.mutable_graphs()) PT_CHECK_OK(sort_inner(graph));
      for (const FreeName& name : inner) read(name.name, reader, name.node);
    }
  }
  first.push_back(static_cast<uint32_t>(edges.size()));
  if (in_order) return {};

  const TopologicalOrder sorted = StableTopologicalOrder(first, edges);
  if (!sorted.cycle.empty()) {
    constexpr size_t kShown = 12;
    std::string text;
    const size_t count = sorted.cycle.size();
    for (size_t i = 0; i < std::min(count, kShown); ++i) {
      const uint32_t node = sorted.cycle[count - 1 - i];
      text += NodeLabel(nodes_[static_cast<int>(node)], node) + " -> ";
    }
    if (count > kShown) text += "… -> ";
    const std::string back = NodeLabel(nodes_[static_cast<int>(sorted.cycle[count - 1])], sorted.cycle[count - 1]);
    return LoadError(ErrorCode::kInvalidInput, "onnx.cycle",
                     "the nodes of " + what_ + " form a cycle of " + std::to_string(count) + ": " + text + back, back);
  }
  Nodes old;
  old.Swap(&nodes_);
  nodes_.Reserve(old.size());
  for (uint32_t node : sorted.order) nodes_.Add()->Swap(old.Mutable(static_cast<int>(node)));
  return {};
}

Status Missing(const std::vector<FreeName>& free, const std::string& what) {
  if (free.empty()) return {};
  return LoadError(ErrorCode::kInvalidInput, "onnx.missing",
                   "value \"" + std::string(free.front().name) + "\" is read in " + what + " but nothing makes it",
                   free.front().node);
}

void MarkNodes(Nodes& nodes, const std::string& path);

void MarkGraph(proto::GraphProto& graph, const std::string& path) { MarkNodes(*graph.mutable_node(), path); }

void MarkNodes(Nodes& nodes, const std::string& path) {
  for (int i = 0; i < nodes.size(); ++i) {
    proto::NodeProto& node = nodes[i];
    SetSource(node, {path, static_cast<uint32_t>(i), node.output_size() > 0 ? node.output(0) : std::string()});
    const std::string here = (path.empty() ? "" : path + "/") + std::to_string(i) + ".";
    for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) MarkGraph(*attribute.mutable_g(), here + attribute.name());
      for (proto::GraphProto& graph : *attribute.mutable_graphs()) MarkGraph(graph, here + attribute.name());
    }
  }
}

}  // namespace

void MarkSources(proto::ModelProto& model) {
  MarkGraph(*model.mutable_graph(), "");
  for (proto::FunctionProto& function : *model.mutable_functions()) {
    const std::string what = "function " + function.domain() + "." + function.name();
    MarkNodes(*function.mutable_node(), what);
    for (proto::AttributeProto& attribute : *function.mutable_attribute_proto()) {
      const std::string here = what + "/" + attribute.name();
      if (attribute.has_g()) MarkGraph(*attribute.mutable_g(), here);
      for (proto::GraphProto& graph : *attribute.mutable_graphs()) MarkGraph(graph, here);
    }
  }
}

Status SortAndCheckNames(proto::ModelProto& model) {
  std::vector<FreeName> free;
  PT_CHECK_OK(SortGraph(*model.mutable_graph(), "the graph", free));
  PT_CHECK_OK(Missing(free, "the graph"));
  for (proto::FunctionProto& function : *model.mutable_functions()) {
    const std::string what = "function " + function.domain() + "." + function.name();
    Body body(*function.mutable_node(), what);
    for (const std::string& input : function.input()) PT_CHECK_OK(body.Define(input, {kNoNode, "input"}));
    PT_CHECK_OK(body.DefineOutputs());
    free.clear();
    PT_CHECK_OK(body.Sort(free));
    PT_CHECK_OK(Missing(free, what));
    for (const std::string& output : function.output()) {
      if (!body.defines(output))
        return LoadError(ErrorCode::kInvalidInput, "onnx.missing",
                         "output \"" + output + "\" of " + what + " is made by nothing in it");
    }
    for (proto::AttributeProto& attribute : *function.mutable_attribute_proto()) {
      const std::string which = "the default of attribute " + attribute.name() + " of " + what;
      const auto check = [&](proto::GraphProto& graph) -> Status {
        free.clear();
        PT_CHECK_OK(SortGraph(graph, which, free));
        return Missing(free, which);
      };
      if (attribute.has_g()) PT_CHECK_OK(check(*attribute.mutable_g()));
      for (proto::GraphProto& graph : *attribute.mutable_graphs()) PT_CHECK_OK(check(graph));
    }
  }
  return {};
}

}  // namespace pt
