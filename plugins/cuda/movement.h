// What operators that only move elements share.
#pragma once

#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/operators.h"

namespace pt::cuda {

// Elements of one can be written as the other's: of one type, or real numbers stored in different ways.
bool AreAlike(const CudaOperand& from, const CudaOperand& to);

// Input 0 of the only node, when its elements can be the only result's; kUnsupported with the reason otherwise.
Result<const CudaOperand*> MovedInput(const CudaSite& site);

// A kernel by tiles in shared memory, which reads and writes neighbours at the same time though both tensors of the
// space, `in` and output 0, have their own innermost dim; nullopt where that is of no use.
std::optional<KernelText> TransposeKernel(const CudaSite& site, const std::string& in, const IndexSpace& space);

}  // namespace pt::cuda
