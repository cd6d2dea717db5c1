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
  Node& node(NodeId id) { return graph_.nodes_[id.index()]; }
  Value& value(ValueId id) { return graph_.values_[id.index()]; }
  const Graph& graph() const { return graph_; }  // uses and order are as of the last Build
  // Every use of `from`, graph outputs included, becomes a use of `to`.
  void ReplaceUses(ValueId from, ValueId to);
  void RemoveNode(NodeId id);  // at Build

  // Freezes. keep_dead = false drops nodes and values that no graph output needs. Inputs and outputs
  // keep their order. Errors (kInvalidInput): a cycle (listed), a value without or with two producers,
  // two values of one name. The builder is empty afterwards. Linear time.
  Result<Graph> Build(bool keep_dead = true);

 private:
  Graph graph_;
  std::vector<bool> removed_;
};

}  // namespace pt
