// Changes of layout on a CUDA device: the same elements, elsewhere.
#pragma once

#include <memory>
#include <span>

#include "plugins/cuda/kernel.h"

namespace pt::cuda {

// From and to float32 that lies row-major or channels-last.
bool CanReorderOnCuda(std::span<const int64_t> dims, const Form& from, const Form& to);
Result<std::unique_ptr<Kernel>> CompileReorderOnCuda(const TensorLayout& from, const TensorLayout& to,
                                                     CompileContext& context);

// A tensor of float32 copied to where it lies otherwise: same dims, other strides. Thread-safe.
class StridedCopy {
 public:
  StridedCopy() = default;  // copies nothing
  static Result<StridedCopy> Make(CudaDriver& driver, std::span<const int64_t> dims, std::span<const int64_t> from,
                                  std::span<const int64_t> to);
  Status Enqueue(CudaStream& stream, CUdeviceptr from, CUdeviceptr to) const;

 private:
  std::shared_ptr<const Program> program_;  // null: nothing to copy
  uint32_t blocks_ = 0;
};

}  // namespace pt::cuda
