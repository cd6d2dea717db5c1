// If, Loop, Scan and SequenceMap: nodes that run nested graphs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/backend/reference/node_tensors.h"
#include "partitiontuner/backend/backend.h"

namespace pt::reference {

// If, Loop, Scan and SequenceMap of the default domain.
bool IsControlFlow(const Node& node);

// Refuses (kUnsupported) forms and types that the kernels do not know, and nested nodes that the reference library does
// not run.
Status CheckControlFlow(const Graph& graph, NodeId id);

// The graph must outlive the kernel. kUnsupported where the context lends no compiler of nested graphs.
Result<std::unique_ptr<Kernel>> CompileControlFlow(const Graph& graph, NodeId id, CompileContext& context);

// The context in which a nested graph runs. It asks `outputs` where its outputs of static sizes shall lie, by its own
// outputs; a view without data leaves that to it. It does not use the step's own allocator.
inline RunContext Within(const RunContext& run, OutputAllocator& outputs) {
  return {run.stream, outputs, run.memory, run.stop};
}

// Leaves every output to the nested graph.
class NoPlaces final : public OutputAllocator {
 public:
  Result<TensorView> Allocate(uint32_t, DataType, std::span<const int64_t>) override { return TensorView(); }
};

// One integer of a scalar or of a list with one element; kInvalidInput for anything else.
Result<int64_t> OneInteger(const TensorView& view, const std::string& what);

Result<std::unique_ptr<BoundKernel>> BindIf(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                            std::span<const std::shared_ptr<const CompiledSubgraph>> nested);
Result<std::unique_ptr<BoundKernel>> BindLoop(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                              std::span<const std::shared_ptr<const CompiledSubgraph>> nested);
Result<std::unique_ptr<BoundKernel>> BindScan(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                              std::span<const std::shared_ptr<const CompiledSubgraph>> nested);
Result<std::unique_ptr<BoundKernel>> BindSequenceMap(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                                     std::span<const std::shared_ptr<const CompiledSubgraph>> nested);

}  // namespace pt::reference
