// Turns a program into a kernel: the primitive is made, constants are packed.
#pragma once

#include "lib/backend/onednn/program.h"
#include "partitiontuner/backend/backend.h"

namespace pt::onednn {

// Called within the ConcurrencyScope of the team that will run it.
Result<std::unique_ptr<Kernel>> MakeKernel(const dnnl::engine& engine, Program program, CompileContext& context);

}  // namespace pt::onednn
