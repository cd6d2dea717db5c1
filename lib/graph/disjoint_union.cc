#include "partitiontuner/graph/disjoint_union.h"

#include <map>
#include <set>

#include "partitiontuner/graph/graph_builder.h"

namespace pt {
namespace {

Result<Graph> Renamed(const Graph& graph, const std::string& model);

// Nodes and values of one graph, under another's roof.
class Mover {
 public:
  Mover(const Graph& graph, const std::string& model, GraphBuilder& builder)
      : graph_(graph), model_(model), builder_(builder), moved_(graph.values().size()) {}

  Status Run() {
    for (const ValueId input : graph_.inputs()) {
      const Value& value = graph_.value(input);
      moved_[input.index()] = builder_.AddInput(NameIn(model_, value.name), TypeIn(model_, value.type));
    }
    for (const ValueId captured : graph_.captured()) {
      const Value& value = graph_.value(captured);
      moved_[captured.index()] = builder_.AddCaptured(NameIn(model_, value.name), TypeIn(model_, value.type));
    }
    for (size_t v = 0; v < moved_.size(); ++v) {
      const Value& value = graph_.values()[v];
      if (moved_[v].valid()) continue;
      const std::string name = NameIn(model_, value.name);
      moved_[v] = value.is_constant() ? builder_.AddConstant(name, *value.constant)
                                      : builder_.AddValue(name, TypeIn(model_, value.type));
    }
    for (const Node& node : graph_.nodes()) PT_CHECK_OK(MoveNode(node));
    for (const ValueId output : graph_.outputs()) builder_.AddOutput(moved_[output.index()]);
    return {};
  }

 private:
  Status MoveNode(Node node) {
    node.name = NameIn(model_, node.name);
    for (ValueId& input : node.inputs) input = input.valid() ? moved_[input.index()] : ValueId();
    for (ValueId& output : node.outputs) output = output.valid() ? moved_[output.index()] : ValueId();
    for (Source& source : node.source) source.first_output = NameIn(model_, source.first_output);
    for (Subgraph& subgraph : node.subgraphs) {
      PT_ASSIGN(Graph inner, Renamed(*subgraph.graph, model_));
      subgraph.graph = std::make_shared<const Graph>(std::move(inner));
    }
    builder_.AddNode(std::move(node));
    return {};
  }

  const Graph& graph_;
  const std::string& model_;
  GraphBuilder& builder_;
  std::vector<ValueId> moved_;  // by value of the graph
};

// A nested graph, whose captures stay what they are.
Result<Graph> Renamed(const Graph& graph, const std::string& model) {
  GraphBuilder builder;
  builder.set_name(graph.name());
  builder.set_opset(graph.opset());
  for (const auto& [domain, version] : graph.domains()) builder.set_domain(domain, version);
  PT_CHECK_OK(Mover(graph, model, builder).Run());
  return builder.Build();
}

void AddUsedDomains(const Graph& graph, std::set<std::string>& domains) {
  for (const Node& node : graph.nodes()) {
    if (!node.domain.empty()) domains.insert(node.domain);
    for (const Subgraph& subgraph : node.subgraphs) AddUsedDomains(*subgraph.graph, domains);
  }
}

Error Apart(const std::string& what, const NamedGraph& a, int64_t of_a, const NamedGraph& b, int64_t of_b) {
  return MakeError(ErrorCode::kUnsupported, "union.versions",
                   "models that are joined need one version of " + what + ": " + a.name + " has " +
                       std::to_string(of_a) + ", " + b.name + " has " + std::to_string(of_b),
                   "convert the older model, or plan and run them one by one");
}

Status CheckNames(std::span<const NamedGraph> graphs) {
  if (graphs.empty()) return MakeError(ErrorCode::kInvalidInput, "union.none", "there is no graph to join");
  std::set<std::string> names;
  for (const NamedGraph& graph : graphs) {
    if (graph.name.empty() || graph.name.find(kModelSeparator) != std::string::npos) {
      return MakeError(ErrorCode::kInvalidInput, "union.name",
                       "\"" + graph.name + "\" cannot name a model: a name holds something, and no '" +
                           std::string(1, kModelSeparator) + "'");
    }
    if (!names.insert(graph.name).second) {
      return MakeError(ErrorCode::kInvalidInput, "union.name", "two models are called \"" + graph.name + "\"",
                       "give each a name of its own");
    }
  }
  return {};
}

// Ids are 32 bits, and the last of them names nothing.
Status CheckSizes(std::span<const NamedGraph> graphs) {
  uint64_t nodes = 0, values = 0;
  for (const NamedGraph& graph : graphs) {
    nodes += graph.graph->nodes().size();
    values += graph.graph->values().size();
  }
  if (nodes < NodeId::kNone && values < ValueId::kNone) return {};
  return MakeError(ErrorCode::kUnsupported, "union.size",
                   "the models have " + std::to_string(nodes) + " nodes and " + std::to_string(values) +
                       " values together, more than a graph can hold");
}

// The versions that the whole has: of what no node uses none, since files name domains that they do without.
Status SetVersions(std::span<const NamedGraph> graphs, GraphBuilder& builder) {
  std::map<std::string, const NamedGraph*> user;  // the first, by domain
  for (const NamedGraph& graph : graphs) {
    if (graph.graph->opset() != graphs[0].graph->opset()) {
      return Apart("the standard's operators", graphs[0], graphs[0].graph->opset(), graph, graph.graph->opset());
    }
    std::set<std::string> used;
    AddUsedDomains(*graph.graph, used);
    for (const auto& [domain, version] : graph.graph->domains()) {
      if (!used.contains(domain)) continue;
      const NamedGraph& first = *user.emplace(domain, &graph).first->second;
      const int64_t of_first = first.graph->domains().at(domain);
      if (of_first != version) return Apart("the operators of " + domain, first, of_first, graph, version);
      builder.set_domain(domain, version);
    }
  }
  builder.set_opset(graphs[0].graph->opset());
  return {};
}

}  // namespace

std::string NameIn(const std::string& model, const std::string& name) {
  return name.empty() ? name : model + kModelSeparator + name;
}

ValueType TypeIn(const std::string& model, ValueType type) {
  for (Dim& dim : type.dims) dim.name = NameIn(model, dim.name);
  return type;
}

Result<Graph> DisjointUnion(std::span<const NamedGraph> graphs) {
  PT_CHECK_OK(CheckNames(graphs));
  PT_CHECK_OK(CheckSizes(graphs));
  GraphBuilder builder;
  PT_CHECK_OK(SetVersions(graphs, builder));
  std::string name;
  for (const NamedGraph& graph : graphs) {
    name += (name.empty() ? "" : " + ") + graph.name;
    PT_CHECK_OK(Mover(*graph.graph, graph.name, builder).Run());
  }
  builder.set_name(name);
  return builder.Build();
}

}  // namespace pt
