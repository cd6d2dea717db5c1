// From a node to something that runs: gathers what is known, asks the operator's row for a routine, and stands
// between the routine and tensors that are strided, narrow or packed.
#pragma once

#include "lib/backend/reference/operator.h"

namespace pt::reference {

struct PreparedNode {
  const ReferenceRow* row = nullptr;
  ReferenceRoutine routine;
  std::vector<TensorFacts> in, out;               // as the routine sees them
  std::vector<DataType> in_storage, out_storage;  // as they are stored: narrower than float32 where widened
};

// What is known of a node beyond its graph: all inputs are there, of these sizes, perhaps with their content.
struct GivenInput {
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
  std::optional<Tensor> content;
};
struct Given {
  std::vector<GivenInput> inputs;  // one each of Node::inputs; of absent ones nothing is looked at
  bool holds_outputs = false;      // static output types of the graph hold; else outputs settle themselves
  uint32_t width = 1;              // of the team
};

// kUnsupported and kInvalidInput name the operator. Without `given`, types and constants come from the graph.
Result<PreparedNode> Prepare(const Graph& graph, NodeId id, CompileContext* context, const Given* given = nullptr);

// Bytes of the scratch that kernel will ask for when all tensors are dense.
uint64_t DenseScratchBytes(const PreparedNode& prepared);

Result<std::unique_ptr<Kernel>> CompileNode(const Graph& graph, NodeId id, std::span<const TensorLayout> in,
                                            std::span<const TensorLayout> out, CompileContext& context);
Result<std::unique_ptr<Kernel>> CompileElementCopy(const TensorLayout& from, const TensorLayout& to);

// Runs a prepared node whose inputs are all constant.
Result<std::vector<Tensor>> Evaluate(const PreparedNode& prepared, Team* team);

}  // namespace pt::reference
