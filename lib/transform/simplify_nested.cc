// Nested graphs: constants that they capture are constants in them, and every pass runs on them as on the graph around
// them. What a graph captured and has no more use for is captured no more.
#include <algorithm>
#include <map>
#include <memory>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

// What a capture stands for outside; invalid once nothing inside reads it.
using Outside = std::vector<ValueId>;

Result<bool> TakeConstants(const Graph& around, Graph& body, Outside& outside) {
  GraphBuilder builder(body);
  bool changed = false;
  for (size_t i = body.captured().size(); i-- > 0;) {
    const std::optional<Tensor>& constant = around.value(outside[i]).constant;
    if (!constant) continue;
    const ValueId inside = body.captured()[i];
    builder.value(inside).constant = *constant;
    builder.value(inside).type = around.value(outside[i]).type;
    builder.DropCaptured(inside);
    outside.erase(outside.begin() + static_cast<std::ptrdiff_t>(i));
    changed = true;
  }
  if (changed) {
    PT_ASSIGN(body, builder.Build(false));
  }
  return changed;
}

Result<bool> DropUnread(Graph& body, Outside& outside) {
  GraphBuilder builder(body);
  bool changed = false;
  for (size_t i = body.captured().size(); i-- > 0;) {
    const Value& value = body.value(body.captured()[i]);
    if (!value.uses.empty() || value.is_graph_output) continue;
    builder.DropCaptured(body.captured()[i]);
    outside.erase(outside.begin() + static_cast<std::ptrdiff_t>(i));
    changed = true;
  }
  if (changed) {
    PT_ASSIGN(body, builder.Build(false));
  }
  return changed;
}

// Results of a nested graph go by their places, not by their names: an Identity gives them nothing.
Result<bool> ReturnWithoutIdentity(Graph& body) {
  GraphBuilder builder(body);
  bool changed = false;
  for (size_t n = 0; n < body.nodes().size(); ++n) {
    const Node& node = body.nodes()[n];
    if (!IsOp(node, "Identity") || !body.value(node.outputs[0]).is_graph_output) continue;
    builder.ReplaceUses(node.outputs[0], builder.graph().node(NodeId(n)).inputs[0]);
    changed = true;
  }
  if (changed) {
    PT_ASSIGN(body, builder.Build(false));
  }
  return changed;
}

// A graph that contradicts itself stays as far as it was simplified: its fault is one only if a run comes to it, as in
// the branch for another rate of a model that has several.
Status SimplifyBody(Graph& body, const PassContext& context, bool& changed) {
  const Status status = SimplifyInPlace(body, context, changed);
  if (status.ok() || status.error().code == ErrorCode::kInvalidInput) return {};
  return status;
}

class NodeSimplifier {
 public:
  NodeSimplifier(GraphBuilder& builder, NodeId id, const PassContext& context)
      : builder_(builder), id_(id), context_(context) {}

  Result<bool> Run() {
    bool changed = false;
    std::vector<Outside> outsides;
    for (size_t s = 0; s < builder_.graph().node(id_).subgraphs.size(); ++s) {
      const Subgraph& subgraph = builder_.graph().node(id_).subgraphs[s];
      Outside& outside = outsides.emplace_back();
      for (const uint32_t index : subgraph.captures) outside.push_back(builder_.graph().node(id_).inputs[index]);
      Graph body = *subgraph.graph;
      PT_ASSIGN(const bool now, Simplified(body, outside));
      if (!now) continue;
      builder_.node(id_).subgraphs[s].graph = std::make_shared<const Graph>(std::move(body));
      changed = true;
    }
    if (changed) Capture(outsides);
    return changed;
  }

 private:
  Result<bool> Simplified(Graph& body, Outside& outside) const {
    PT_ASSIGN(bool changed, TakeConstants(builder_.graph(), body, outside));
    if (changed) {
      PT_ASSIGN(body, context_.infer_types(body));
    }
    PT_CHECK_OK(SimplifyBody(body, context_, changed));
    PT_ASSIGN(const bool returned, ReturnWithoutIdentity(body));
    PT_ASSIGN(const bool dropped, DropUnread(body, outside));
    return changed || returned || dropped;
  }

  // The node's inputs behind the formal ones: what its graphs capture, each once.
  void Capture(const std::vector<Outside>& outsides) {
    Node& node = builder_.node(id_);
    node.inputs.resize(node.formal_inputs);
    std::map<ValueId, uint32_t> places;
    for (size_t s = 0; s < outsides.size(); ++s) {
      node.subgraphs[s].captures.clear();
      for (const ValueId value : outsides[s]) {
        const auto [at, is_new] = places.emplace(value, node.inputs.size());
        if (is_new) node.inputs.push_back(value);
        node.subgraphs[s].captures.push_back(at->second);
      }
    }
  }

  GraphBuilder& builder_;
  const NodeId id_;
  const PassContext& context_;
};

}  // namespace

Result<std::optional<Graph>> SimplifyNested(const Graph& graph, const PassContext& context) {
  if (std::ranges::all_of(graph.nodes(), [](const Node& node) { return node.subgraphs.empty(); })) {
    return {std::nullopt};
  }
  GraphBuilder builder(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph.nodes()[n].subgraphs.empty()) continue;
    PT_ASSIGN(const bool now, NodeSimplifier(builder, NodeId(n), context).Run());
    changed |= now;
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
