// A site's routine as a kernel of the executor.
#pragma once

#include <memory>

#include "lib/backend/host_kernels/operator.h"

namespace pt::host {

// A site and what runs it.
struct PreparedSite {
  HostSite site;
  HostRoutine routine;
};

// How nodes are to run, beside the layouts of their tensors.
struct Setting {
  uint32_t width = 1;        // of the team
  bool dequantised = false;  // HostSite::dequantised
};

// The nodes in the layouts of one of their arrangements, one for each of GroupInputs and GroupOutputs; float32 may be
// stored as bfloat16. kUnsupported when this library cannot run them. The graph must outlive the result.
Result<PreparedSite> Prepare(const Graph& graph, std::span<const NodeId> nodes, std::span<const TensorLayout> in,
                             std::span<const TensorLayout> out, Setting setting);

std::unique_ptr<Kernel> MakeKernel(PreparedSite prepared);

}  // namespace pt::host
