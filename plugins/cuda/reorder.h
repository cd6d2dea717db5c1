// Changes of layout on a CUDA device: the same elements, elsewhere.
#pragma once

#include <memory>
#include <span>

#include "plugins/cuda/kernel.h"

namespace pt::cuda {

// Real numbers that lie row-major or channels-last, from one of these to the other; on the way from or to float32, if
// asked for.
bool CanReorderOnCuda(std::span<const int64_t> dims, const Form& from, const Form& to);
Result<std::unique_ptr<Kernel>> CompileReorderOnCuda(const TensorLayout& from, const TensorLayout& to,
                                                     CompileContext& context);

// A tensor of real numbers copied to where it lies otherwise: same dims, other strides or type. Thread-safe.
class LayoutCopy {
 public:
  LayoutCopy() = default;  // copies nothing
  static Result<LayoutCopy> Make(CudaDriver& driver, const TensorLayout& from, const TensorLayout& to);
  Status Enqueue(CudaStream& stream, CUdeviceptr from, CUdeviceptr to) const;

 private:
  std::shared_ptr<const DeviceProgram> program_;  // null: nothing to copy
  uint32_t blocks_ = 0;
};

}  // namespace pt::cuda
