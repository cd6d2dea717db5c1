// If, Loop and Scan: nodes that run nested graphs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt::reference {

// If, Loop and Scan of the default domain.
bool IsControlFlow(const Node& node);

// Refuses (kUnsupported) forms and types that the kernels do not know, and nested nodes that the reference library does
// not run.
Status CheckControlFlow(const Graph& graph, NodeId id);

// The graph must outlive the kernel. kUnsupported where the context lends no compiler of nested graphs.
Result<std::unique_ptr<Kernel>> CompileControlFlow(const Graph& graph, NodeId id, CompileContext& context);

// What the kernels share: the node's inputs and outputs during one Enqueue. Everything it hands out is dense and
// row-major, and lasts until it is destroyed.
class NodeTensors {
 public:
  NodeTensors(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out, const RunContext& run);
  ~NodeTensors();
  NodeTensors(const NodeTensors&) = delete;
  NodeTensors& operator=(const NodeTensors&) = delete;

  bool has(size_t input) const;
  Result<TensorView> Input(size_t input);
  // The inputs of a nested graph: `formal`, then what it captures.
  Result<std::vector<TensorView>> WithCaptures(std::vector<TensorView> formal, const Subgraph& subgraph);

  // Memory that lasts as long as this.
  Result<void*> Take(uint64_t bytes);

  // Gives output i its size and content; nothing for one that nobody reads.
  Status SetOutput(size_t output, const TensorView& from);

 private:
  const Graph& graph_;
  const Node& node_;
  const std::vector<ValueId> in_values_, out_values_;
  TensorSlots in_, out_;
  const RunContext& run_;
  std::vector<void*> taken_;
};

// One integer of a scalar or of a list with one element; kInvalidInput for anything else.
Result<int64_t> OneInteger(const TensorView& view, const std::string& what);

Result<std::unique_ptr<BoundKernel>> BindIf(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                            std::span<const std::shared_ptr<const CompiledSubgraph>> nested);
Result<std::unique_ptr<BoundKernel>> BindLoop(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                              std::span<const std::shared_ptr<const CompiledSubgraph>> nested);
Result<std::unique_ptr<BoundKernel>> BindScan(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                              std::span<const std::shared_ptr<const CompiledSubgraph>> nested);

}  // namespace pt::reference
