// Graph: a frozen model. Nodes consume and produce values; both are named by ids that index the
// graph's vectors. Made by GraphBuilder only; never changed afterwards, so it is safe to share between
// threads. It holds no planning or run state: who needs side data keeps a table indexed by id.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "partitiontuner/graph/data_type.h"
#include "partitiontuner/graph/tensor.h"
#include "partitiontuner/support/strong_id.h"

namespace pt {

using NodeId = StrongId<struct NodeTag>;
using ValueId = StrongId<struct ValueTag>;
class Graph;

// A dimension: a number, or unknown until run time (value < 0) with an optional name.
struct Dim {
  int64_t value = -1;
  std::string name;  // "batch"; empty = unnamed. Distinct unnamed dims are unrelated

  bool known() const { return value >= 0; }
  friend bool operator==(const Dim&, const Dim&) = default;
};

// What is known of a value before it is computed.
struct ValueType {
  DataType type = DataType::kUndefined;
  bool ranked = false;  // false: even the rank is unknown
  std::vector<Dim> dims;
  std::string other;  // not empty: no tensor but this ("sequence", "optional", "map", "sparse_tensor")

  bool is_static() const;                                   // a tensor with all dims known
  std::optional<std::vector<int64_t>> static_dims() const;  // when is_static()
  friend bool operator==(const ValueType&, const ValueType&) = default;
};
ValueType StaticType(DataType type, std::vector<int64_t> dims);
std::string ToString(const ValueType& type);  // "float32[1,3,224,224]", "int64[batch,?]"

using Attribute = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>, std::vector<float>,
                               std::vector<std::string>>;

// A graph carried by a node (the branches of If, the body of Loop and Scan). What it uses from outside
// stands among the node's inputs: captures[i] is the index into Node::inputs of the value that
// graph->captured()[i] stands for inside.
struct Subgraph {
  std::string attribute;  // "then_branch"
  std::shared_ptr<const Graph> graph;
  std::vector<uint32_t> captures;
};

// Where a node came from in the model file, for display and for --explain.
struct Source {
  std::string subgraph;      // "" at the top, else "12.then_branch/3.body"
  uint32_t index = 0;        // of the node within its graph in the file
  std::string first_output;  // name of its first output there
};

// An operator with what it reads and makes.
struct Node {
  std::string op;      // "Conv"
  std::string domain;  // "" = ai.onnx
  std::string name;    // as in the file; may be empty or repeated, nothing keys on it
  std::map<std::string, Attribute, std::less<>> attributes;
  std::vector<ValueId> inputs;   // formal ones first (an absent optional one is an invalid id), then captures
  uint32_t formal_inputs = 0;    // how many of inputs are formal
  std::vector<ValueId> outputs;  // an unused optional one is an invalid id
  std::vector<Subgraph> subgraphs;
  std::vector<Source> source;  // the file's nodes it stands for; several after fusion or folding

  // Attribute look-ups with the default of the operator's definition; kind mismatches give the default.
  int64_t int_or(std::string_view attribute, int64_t otherwise) const;
  float float_or(std::string_view attribute, float otherwise) const;
  std::string string_or(std::string_view attribute, std::string_view otherwise) const;
  std::vector<int64_t> ints_or(std::string_view attribute, std::vector<int64_t> otherwise) const;
  const Attribute* find(std::string_view attribute) const;
};

// Where a value is read.
struct Use {
  NodeId node;
  uint32_t input = 0;  // index into that node's inputs
  friend bool operator==(const Use&, const Use&) = default;
};

// What nodes read and make: a tensor, or what `other` of its type says.
struct Value {
  std::string name;  // as in the file; unique within the graph when not empty
  ValueType type;
  NodeId producer;  // invalid: a graph input, a captured value or a constant
  uint32_t producer_output = 0;
  std::optional<Tensor> constant;  // set for initialisers and folded constants
  std::vector<Use> uses;           // by nodes, in node order; graph outputs are not counted
  bool is_graph_output = false;

  bool is_constant() const { return constant.has_value(); }
};

class Graph {
 public:
  // Nodes are in a topological order: a node's inputs are produced before it.
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Value> values() const { return values_; }
  const Node& node(NodeId id) const { return nodes_[id.index()]; }
  const Value& value(ValueId id) const { return values_[id.index()]; }

  std::span<const ValueId> inputs() const { return inputs_; }      // without constants
  std::span<const ValueId> outputs() const { return outputs_; }    // may repeat, may be inputs or constants
  std::span<const ValueId> captured() const { return captured_; }  // a body's values from outside
  const std::string& name() const { return name_; }
  int64_t opset() const { return opset_; }                                    // of the default domain
  const std::map<std::string, int64_t>& domains() const { return domains_; }  // other domains' versions

  ValueId find_value(std::string_view name) const;  // invalid when absent; linear time

 private:
  friend class GraphBuilder;
  std::string name_;
  int64_t opset_ = 0;
  std::map<std::string, int64_t> domains_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> inputs_, outputs_, captured_;
};

// "Conv conv1/7x7 (#3)": operator, best available name, index; for messages.
std::string NodeLabel(const Graph& graph, NodeId id);

// Hash of what a plan depends on: operators, attributes, edges, types, dims, integer constants of at
// most 64 elements; other constants count by type and dims only. See architecture.md "Which node is meant".
Hash128 GraphHash(const Graph& graph);
// GraphHash plus the content of every constant.
Hash128 ModelHash(const Graph& graph);

}  // namespace pt
