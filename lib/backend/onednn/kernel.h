// Turns a descriptor into a kernel: the primitive is made, constants are packed.
#pragma once

#include "lib/backend/onednn/kernel_descriptor.h"
#include "partitiontuner/backend/backend.h"

namespace pt::onednn {

// Called within the ConcurrencyScope of the team that will run it.
Result<std::unique_ptr<Kernel>> MakeKernel(const dnnl::engine& engine, KernelDescriptor descriptor,
                                           CompileContext& context);

// What oneDNN threw while doing `what`: kOutOfMemory or kRunFailed.
Error Fault(const dnnl::error& error, const char* what);
// What came of executing a primitive.
Status ExecutionStatus(dnnl_status_t status) noexcept;

}  // namespace pt::onednn
