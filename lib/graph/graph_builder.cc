#include "partitiontuner/graph/graph_builder.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <utility>

#include "partitiontuner/graph/topological_order.h"

namespace pt {
namespace {

Error BuildError(std::string id, std::string message, std::string node = {}) {
  Error error = MakeError(ErrorCode::kInvalidInput, std::move(id), std::move(message));
  error.node = std::move(node);
  return error;
}

std::string ValueLabel(const Graph& graph, ValueId id) {
  const std::string& name = graph.value(id).name;
  return name.empty() ? "value #" + std::to_string(id.value) : "value \"" + name + "\"";
}

std::string CycleText(const Graph& graph, std::span<const NodeId> cycle) {
  constexpr size_t kShown = 12;
  std::string text = "the nodes form a cycle of " + std::to_string(cycle.size()) + ": ";
  for (size_t i = 0; i < std::min(cycle.size(), kShown); ++i) text += NodeLabel(graph, cycle[i]) + " -> ";
  if (cycle.size() > kShown) text += "… -> ";
  return text + NodeLabel(graph, cycle.front());
}

// The kept nodes in a topological order; a cycle is refused and listed.
Result<std::vector<NodeId>> SortNodes(const Graph& graph, const std::vector<NodeId>& producer,
                                      const std::vector<bool>& keep) {
  std::vector<uint32_t> first, edges;
  first.reserve(graph.nodes().size() + 1);
  for (const Node& node : graph.nodes()) {
    first.push_back(static_cast<uint32_t>(edges.size()));
    for (ValueId input : node.inputs) {
      if (input.valid() && producer[input.index()].valid()) edges.push_back(producer[input.index()].value);
    }
  }
  first.push_back(static_cast<uint32_t>(edges.size()));
  const TopologicalOrder sorted = StableTopologicalOrder(first, edges, keep);
  std::vector<NodeId> order;
  order.reserve(sorted.order.size());
  if (!sorted.cycle.empty()) {
    for (size_t i = sorted.cycle.size(); i-- > 0;) order.push_back(NodeId(sorted.cycle[i]));
    return BuildError("graph.cycle", CycleText(graph, order), NodeLabel(graph, order.front()));
  }
  for (uint32_t node : sorted.order) order.push_back(NodeId(node));
  return order;
}

// Producer of each value by the kept nodes; a second producer, or one of a value that needs none,
// is refused.
Result<std::vector<NodeId>> FindProducers(const Graph& graph, const std::vector<bool>& removed,
                                          const std::vector<bool>& is_source) {
  std::vector<NodeId> producer(graph.values().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (removed[i]) continue;
    for (ValueId output : graph.nodes()[i].outputs) {
      if (!output.valid()) continue;
      assert(output.index() < producer.size());
      if (is_source[output.index()]) {
        return BuildError("graph.duplicate",
                          ValueLabel(graph, output) + " is made by a node and is a graph input or constant as well",
                          NodeLabel(graph, NodeId(i)));
      }
      if (producer[output.index()].valid()) {
        return BuildError("graph.duplicate",
                          ValueLabel(graph, output) + " is made by two nodes: " +
                              NodeLabel(graph, producer[output.index()]) + " and " + NodeLabel(graph, NodeId(i)),
                          NodeLabel(graph, NodeId(i)));
      }
      producer[output.index()] = NodeId(i);
    }
  }
  return producer;
}

std::vector<bool> MarkLive(const Graph& graph, const std::vector<NodeId>& producer) {
  std::vector<bool> live(graph.nodes().size(), false);
  std::vector<NodeId> open;
  const auto need = [&](ValueId value) {
    const NodeId from = value.valid() ? producer[value.index()] : NodeId();
    if (!from.valid() || live[from.index()]) return;
    live[from.index()] = true;
    open.push_back(from);
  };
  for (ValueId output : graph.outputs()) need(output);
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (ValueId input : graph.node(node).inputs) need(input);
  }
  return live;
}

// Every value read must come from somewhere, and captures must fit their subgraphs.
Status CheckReads(const Graph& graph, const std::vector<bool>& keep, const std::vector<NodeId>& producer,
                  const std::vector<bool>& is_source) {
  const auto made = [&](ValueId value) { return is_source[value.index()] || producer[value.index()].valid(); };
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (!keep[i]) continue;
    const Node& node = graph.nodes()[i];
    for (ValueId input : node.inputs) {
      if (!input.valid()) continue;
      assert(input.index() < is_source.size());
      if (!made(input)) {
        return BuildError("graph.missing", ValueLabel(graph, input) + " is read but nothing makes it",
                          NodeLabel(graph, NodeId(i)));
      }
    }
    for (const Subgraph& subgraph : node.subgraphs) {
      const bool fits = subgraph.captures.size() == subgraph.graph->captured().size() &&
                        std::all_of(subgraph.captures.begin(), subgraph.captures.end(), [&](uint32_t index) {
                          return index >= node.formal_inputs && index < node.inputs.size();
                        });
      if (!fits) {
        return BuildError("graph.captures",
                          "the captures of subgraph " + subgraph.attribute + " do not fit its captured values",
                          NodeLabel(graph, NodeId(i)));
      }
    }
  }
  for (ValueId output : graph.outputs()) {
    if (!made(output))
      return BuildError("graph.missing", "graph output " + ValueLabel(graph, output) + " is made by nothing");
  }
  return {};
}

Status CheckNames(std::span<const Value> values) {
  std::unordered_map<std::string_view, size_t> first;
  first.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name.empty()) continue;
    const auto [at, is_new] = first.emplace(values[i].name, i);
    if (!is_new) {
      return BuildError("graph.duplicate", "two values are named \"" + values[i].name + "\" (#" +
                                               std::to_string(at->second) + " and #" + std::to_string(i) + ")");
    }
  }
  return {};
}

}  // namespace

GraphBuilder::GraphBuilder(const Graph& graph) : graph_(graph), removed_(graph.nodes().size(), false) {}

ValueId GraphBuilder::AddValue(std::string name, ValueType type) {
  const ValueId id(graph_.values_.size());
  Value& value = graph_.values_.emplace_back();
  value.name = std::move(name);
  value.type = std::move(type);
  return id;
}

ValueId GraphBuilder::AddInput(std::string name, ValueType type) {
  const ValueId id = AddValue(std::move(name), std::move(type));
  graph_.inputs_.push_back(id);
  return id;
}

ValueId GraphBuilder::AddCaptured(std::string name, ValueType type) {
  const ValueId id = AddValue(std::move(name), std::move(type));
  graph_.captured_.push_back(id);
  return id;
}

ValueId GraphBuilder::AddConstant(std::string name, Tensor tensor) {
  const ValueId id = AddValue(std::move(name), StaticType(tensor.type(), tensor.dims()));
  graph_.values_.back().constant = std::move(tensor);
  return id;
}

void GraphBuilder::AddOutput(ValueId value) {
  assert(value.index() < graph_.values_.size());
  graph_.outputs_.push_back(value);
  graph_.values_[value.index()].is_graph_output = true;
}

NodeId GraphBuilder::AddNode(Node node) {
  const NodeId id(graph_.nodes_.size());
  if (node.subgraphs.empty()) node.formal_inputs = static_cast<uint32_t>(node.inputs.size());
  graph_.nodes_.push_back(std::move(node));
  removed_.push_back(false);
  return id;
}

ValueId GraphBuilder::AddOp(std::string op, std::vector<ValueId> inputs, ValueType output,
                            std::map<std::string, Attribute, std::less<>> attributes, std::string output_name) {
  Node node;
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  const ValueId value = AddValue(std::move(output_name), std::move(output));
  node.outputs = {value};
  AddNode(std::move(node));
  return value;
}

void GraphBuilder::SyncUses() {
  uses_.resize(graph_.values_.size());
  const auto add = [&](size_t node) {
    const std::vector<ValueId>& inputs = graph_.nodes_[node].inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].valid()) uses_[inputs[i].index()].push_back({NodeId(node), static_cast<uint32_t>(i)});
    }
  };
  for (; synced_nodes_ < graph_.nodes_.size(); ++synced_nodes_) add(synced_nodes_);
  for (NodeId node : edited_) add(node.index());
  edited_.clear();
}

void GraphBuilder::ReplaceUses(ValueId from, ValueId to) {
  assert(from.index() < graph_.values_.size() && to.index() < graph_.values_.size());
  if (from == to) return;
  SyncUses();
  for (const Use& use : std::exchange(uses_[from.index()], {})) {
    std::vector<ValueId>& inputs = graph_.nodes_[use.node.index()].inputs;
    if (use.input >= inputs.size() || inputs[use.input] != from) continue;
    inputs[use.input] = to;
    uses_[to.index()].push_back(use);
  }
  if (!graph_.values_[from.index()].is_graph_output) return;
  std::replace(graph_.outputs_.begin(), graph_.outputs_.end(), from, to);
  graph_.values_[from.index()].is_graph_output = false;
  graph_.values_[to.index()].is_graph_output = true;
}

void GraphBuilder::RemoveNode(NodeId id) { removed_[id.index()] = true; }

void GraphBuilder::DropCaptured(ValueId value) { std::erase(graph_.captured_, value); }

void GraphBuilder::CaptureInput(ValueId input) {
  std::erase(graph_.inputs_, input);
  graph_.captured_.push_back(input);
}

void GraphBuilder::SetOutput(size_t place, ValueId value) {
  const ValueId before = std::exchange(graph_.outputs_[place], value);
  graph_.values_[before.index()].is_graph_output = std::ranges::count(graph_.outputs_, before) > 0;
  graph_.values_[value.index()].is_graph_output = true;
}

void GraphBuilder::DropOutput(size_t place) {
  const ValueId before = graph_.outputs_[place];
  graph_.outputs_.erase(graph_.outputs_.begin() + static_cast<std::ptrdiff_t>(place));
  graph_.values_[before.index()].is_graph_output = std::ranges::count(graph_.outputs_, before) > 0;
}

void GraphBuilder::TakeCapturedAsInputs() {
  graph_.inputs_.insert(graph_.inputs_.end(), graph_.captured_.begin(), graph_.captured_.end());
  graph_.captured_.clear();
}

Result<Graph> GraphBuilder::Build(bool keep_dead) {
  Graph old = std::exchange(graph_, {});
  const std::vector<bool> removed = std::exchange(removed_, {});
  *this = GraphBuilder();

  std::vector<bool> is_source(old.values_.size(), false);
  for (size_t i = 0; i < old.values_.size(); ++i) is_source[i] = old.values_[i].is_constant();
  for (ValueId id : old.inputs_) is_source[id.index()] = true;
  for (ValueId id : old.captured_) is_source[id.index()] = true;

  PT_ASSIGN(std::vector<NodeId> producer, FindProducers(old, removed, is_source));
  std::vector<bool> keep = keep_dead ? removed : MarkLive(old, producer);
  if (keep_dead) keep.flip();
  PT_CHECK_OK(CheckReads(old, keep, producer, is_source));
  PT_ASSIGN(const std::vector<NodeId> order, SortNodes(old, producer, keep));

  // Which values stay: what kept nodes touch, the graph's boundary, and with keep_dead unused
  // constants.
  std::vector<bool> stays(old.values_.size(), false);
  for (ValueId id : old.inputs_) stays[id.index()] = true;
  for (ValueId id : old.captured_) stays[id.index()] = true;
  for (ValueId id : old.outputs_) stays[id.index()] = true;
  for (size_t i = 0; keep_dead && i < stays.size(); ++i) stays[i] = stays[i] || is_source[i];
  for (NodeId id : order) {
    for (ValueId value : old.node(id).inputs) {
      if (value.valid()) stays[value.index()] = true;
    }
    for (ValueId value : old.node(id).outputs) {
      if (value.valid()) stays[value.index()] = true;
    }
  }

  return Freeze(std::move(old), order, stays);
}

Result<Graph> GraphBuilder::Freeze(Graph old, std::span<const NodeId> order, const std::vector<bool>& stays) {
  Graph graph;
  graph.name_ = std::move(old.name_);
  graph.opset_ = old.opset_;
  graph.domains_ = std::move(old.domains_);
  std::vector<ValueId> new_id(old.values_.size());
  graph.values_.reserve(old.values_.size());
  for (size_t i = 0; i < old.values_.size(); ++i) {
    if (!stays[i]) continue;
    new_id[i] = ValueId(graph.values_.size());
    Value& value = graph.values_.emplace_back(std::move(old.values_[i]));
    value.producer = {};
    value.producer_output = 0;
    value.uses.clear();
    value.is_graph_output = false;
  }
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      if (id.valid()) id = new_id[id.index()];
    }
  };
  graph.nodes_.reserve(order.size());
  for (NodeId old_id : order) {
    const NodeId id(graph.nodes_.size());
    Node& node = graph.nodes_.emplace_back(std::move(old.nodes_[old_id.index()]));
    renumber(node.inputs);
    renumber(node.outputs);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid()) graph.values_[node.inputs[i].index()].uses.push_back({id, static_cast<uint32_t>(i)});
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      graph.values_[node.outputs[i].index()].producer = id;
      graph.values_[node.outputs[i].index()].producer_output = static_cast<uint32_t>(i);
    }
  }
  renumber(old.inputs_);
  renumber(old.captured_);
  renumber(old.outputs_);
  // An input that a pass gave a constant is an input no more.
  std::erase_if(old.inputs_, [&](ValueId id) { return graph.values_[id.index()].is_constant(); });
  graph.inputs_ = std::move(old.inputs_);
  graph.captured_ = std::move(old.captured_);
  graph.outputs_ = std::move(old.outputs_);
  for (ValueId id : graph.outputs_) graph.values_[id.index()].is_graph_output = true;
  PT_CHECK_OK(CheckNames(graph.values_));
  return graph;
}

}  // namespace pt
