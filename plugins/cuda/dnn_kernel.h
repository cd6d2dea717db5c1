// From a site and an engine to a kernel of the executor's.
#pragma once

#include <memory>

#include "plugins/cuda/dnn_graph.h"
#include "plugins/cuda/kernel.h"

namespace pt::cuda {

// The most that an engine may use beside its operands.
inline constexpr uint64_t kMostDnnWorkspace = uint64_t{64} << 20;
// Scratch for such a workspace: the executor aligns it less than cuDNN wants.
uint64_t DnnScratchBytes(uint64_t workspace_bytes);

// The group on dense tensors, those of the result's rank channels-last if asked for, stored as the math mode says.
// kUnsupported where sizes are not known until run time, or nothing but constants is read.
Result<CudaSite> DnnDenseSite(const Graph& graph, std::span<const NodeId> nodes, bool channels_last, MathMode math);

// Where the engine takes dense tensors only and the site's are slices, they are copied to dense ones and back.
Result<std::unique_ptr<Kernel>> CompileDnn(const CudaSite& site, MathMode math, const DnnEngine& engine,
                                           CompileContext& context);

}  // namespace pt::cuda
