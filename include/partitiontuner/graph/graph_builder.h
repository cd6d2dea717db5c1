// GraphBuilder: the only way to make a Graph. Values first, then nodes in any order; Build sorts
// stably into a topological order, checks, links uses, and freezes.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

class GraphBuilder {
 public:
  GraphBuilder() = default;
  // Starts from a copy of a frozen graph (its ids stay valid while only adding).
  explicit GraphBuilder(const Graph& graph);

  void set_name(std::string name) { graph_.name_ = std::move(name); }
  void set_opset(int64_t opset) { graph_.opset_ = opset; }
  void set_domain(std::string domain, int64_t version) { graph_.domains_[std::move(domain)] = version; }

  ValueId AddInput(std::string name, ValueType type);
  ValueId AddCaptured(std::string name, ValueType type);
  ValueId AddConstant(std::string name, Tensor tensor);
  ValueId AddValue(std::string name, ValueType type = {});  // to be produced by a node
  void AddOutput(ValueId value);

  // inputs/outputs are values added before. formal_inputs is set to inputs.size() unless subgraphs
  // exist. A value may be produced once (checked by Build).
  NodeId AddNode(Node node);
  // For code and tests: a node of the default domain with one output value of that type and name.
  ValueId AddOp(std::string op, std::vector<ValueId> inputs, ValueType output = {},
                std::map<std::string, Attribute, std::less<>> attributes = {}, std::string output_name = {});

  // Edits between passes: the node or value stays in place until Build drops what is unreachable.
  Node& node(NodeId id) { return edited_.push_back(id), graph_.nodes_[id.index()]; }
  Value& value(ValueId id) { return graph_.values_[id.index()]; }
  const Graph& graph() const { return graph_; }  // uses and order are as of the last Build
  // Every use of `from`, graph outputs included, becomes a use of `to`. Costs the number of uses, so a
  // pass may call it for every node. A Node& taken before the call must not be edited after it.
  void ReplaceUses(ValueId from, ValueId to);
  void RemoveNode(NodeId id);  // at Build
  // The value stands for nothing outside any more: it has a constant, or nothing reads it. Captures are edited too.
  void DropCaptured(ValueId value);
  // The input becomes captured, behind what is captured so far.
  void CaptureInput(ValueId input);
  void SetOutput(size_t place, ValueId value);
  void DropOutput(size_t place);
  // What is captured becomes inputs, in its order, behind those there are: the graph stands alone.
  void TakeCapturedAsInputs();

  // Freezes. keep_dead = false drops nodes and values that no graph output needs. Inputs and outputs
  // keep their order. Errors (kInvalidInput): a cycle (listed), a value without or with two producers,
  // two values of one name. A value that nothing uses and nothing makes is dropped. The builder is empty
  // afterwards. Linear time; an order that is topological already is kept.
  Result<Graph> Build(bool keep_dead = true);

 private:
  // The last step of Build: new ids, links, names checked.
  static Result<Graph> Freeze(Graph old, std::span<const NodeId> order, const std::vector<bool>& stays);
  void SyncUses();  // brings uses_ up to the nodes added or handed out since the last call

  Graph graph_;
  std::vector<bool> removed_;
  // What ReplaceUses looks at: for each value at least its uses, stale entries included.
  std::vector<std::vector<Use>> uses_;
  size_t synced_nodes_ = 0;
  std::vector<NodeId> edited_;
};

}  // namespace pt
