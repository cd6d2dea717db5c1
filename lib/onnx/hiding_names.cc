#include "lib/onnx/hiding_names.h"

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "lib/onnx/fresh_names.h"
#include "lib/onnx/sources.h"

namespace pt {
namespace {

using Renames = std::unordered_map<std::string, std::string>;

// visit(graph, attribute) of the graphs that a node holds.
template <typename Visit>
void VisitGraphs(proto::NodeProto& node, const Visit& visit) {
  for (proto::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) visit(*attribute.mutable_g(), attribute.name());
    for (proto::GraphProto& graph : *attribute.mutable_graphs()) visit(graph, attribute.name());
  }
}

// visit(name) of what the graph defines outside its nodes.
template <typename Visit>
void VisitGiven(proto::GraphProto& graph, const Visit& visit) {
  for (auto& input : *graph.mutable_input()) visit(*input.mutable_name());
  for (auto& tensor : *graph.mutable_initializer()) visit(*tensor.mutable_name());
}

// The same of all that it defines.
template <typename Visit>
void VisitDefined(proto::GraphProto& graph, const Visit& visit) {
  VisitGiven(graph, visit);
  for (proto::NodeProto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) visit(output);
  }
}

// What nodes read, but for graphs within that define the name themselves.
void RenameReads(proto::GraphProto& graph, const Renames& renames) {
  for (proto::NodeProto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (const auto at = renames.find(input); at != renames.end()) input = at->second;
    }
    VisitGraphs(node, [&](proto::GraphProto& inner, const std::string&) {
      Renames outer = renames;
      VisitDefined(inner, [&](const std::string& name) { outer.erase(name); });
      if (!outer.empty()) RenameReads(inner, outer);
    });
  }
}

void Rename(proto::GraphProto& graph, const Renames& renames) {
  const auto rename = [&](std::string& name) {
    if (const auto at = renames.find(name); at != renames.end()) name = at->second;
  };
  VisitDefined(graph, rename);
  for (auto& output : *graph.mutable_output()) rename(*output.mutable_name());
  for (auto& value : *graph.mutable_value_info()) rename(*value.mutable_name());
  RenameReads(graph, renames);
}

class Renaming {
 public:
  Renaming(const proto::GraphProto& graph, std::vector<std::string>& warnings) : graph_(graph), warnings_(warnings) {}

  // `what`: how the graph is called in a warning.
  void Visit(proto::GraphProto& graph, const std::string& what) {
    GiveOwnNames(graph, what);
    std::vector<std::string_view> mine;
    const auto define = [&](const std::string& name) {
      if (!name.empty() && visible_.insert(name).second) mine.push_back(name);
    };
    VisitGiven(graph, define);
    for (int i = 0; i < graph.node_size(); ++i) {
      proto::NodeProto& node = *graph.mutable_node(i);
      VisitGraphs(node, [&](proto::GraphProto& inner, const std::string& attribute) {
        Visit(inner, "subgraph " + attribute + " of node " + NodeLabel(node, static_cast<size_t>(i)));
      });
      for (const std::string& output : node.output()) define(output);
    }
    for (std::string_view name : mine) visible_.erase(name);
  }

 private:
  void GiveOwnNames(proto::GraphProto& graph, const std::string& what) {
    Renames renames;
    std::string first;
    VisitDefined(graph, [&](const std::string& name) {
      if (!visible_.contains(name) || renames.contains(name)) return;
      if (renames.empty()) first = name;
      if (!fresh_) fresh_.emplace(graph_);
      renames.emplace(name, fresh_->Make(name));
    });
    if (renames.empty()) return;
    Rename(graph, renames);
    const std::string others = renames.size() > 1 ? " and " + std::to_string(renames.size() - 1) + " more" : "";
    warnings_.push_back("value \"" + first + "\"" + others + " of " + what +
                        " has the name of a value outside; inside, the inner one is read");
  }

  const proto::GraphProto& graph_;
  std::vector<std::string>& warnings_;
  std::optional<FreshNames> fresh_;
  std::unordered_set<std::string_view> visible_;  // what graphs around have defined so far
};

}  // namespace

void RenameHidingValues(proto::ModelProto& model, std::vector<std::string>& warnings) {
  Renaming(model.graph(), warnings).Visit(*model.mutable_graph(), "the graph");
}

}  // namespace pt
