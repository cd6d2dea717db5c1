// The libraries of this plugin.
#pragma once

#include <memory>
#include <vector>

#include "plugins/cuda/functions.h"
#include "plugins/cuda/site.h"

namespace pt::cuda {

std::unique_ptr<Library> MakeOwnKernelsLibrary();  // "cuda": kernels of our own, compiled while the program runs
std::unique_ptr<Library> MakeProductsLibrary();    // "cublaslt": matrix products
// "cudnn": convolutions, pooling, normalisations. Null functions, or ones without cuDNN: it offers nothing.
std::unique_ptr<Library> MakeDnnLibrary(std::shared_ptr<const Functions> functions);

// The unit classes of CUDA devices that compute: their streams, not their copy engines.
std::vector<UnitClassId> ComputingClasses(const Platform& platform);
bool IsCuda(const Platform& platform, DeviceId device);
// Of the operands that are not constants.
std::vector<Form> FormsOf(std::span<const CudaOperand> operands);
// The site's nodes on row-major tensors, once for each of the classes.
std::vector<Candidate> RowMajorCandidates(const CudaSite& site, std::string_view library,
                                          std::span<const UnitClassId> classes, uint64_t scratch_bytes);

}  // namespace pt::cuda
