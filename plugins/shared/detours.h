// Detours: how slots that are slices of bigger tensors are handed to a runtime that takes dense ones alone.
#pragma once

#include <vector>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/support/aligned_bytes.h"
#include "plugins/shared/dense_copy.h"

namespace pt::plugins {

// The slots of one side of a kernel, inputs or outputs. Layouts are row-major without blocks.
class Detours {
 public:
  // Where the runtime finds the slot's elements, dense: where they lie, or in memory of this object when the slot is a
  // slice. kOutOfMemory.
  Result<void*> DenseAddress(const TensorView& slot);

  void Gather() const noexcept;   // of inputs, before each run
  void Scatter() const noexcept;  // of outputs, after it

 private:
  struct Detour {
    DenseCopy copy;
    void* slot;
    AlignedBytes dense;
  };
  std::vector<Detour> detours_;
};

// What the elements of a dense tensor of that type and these dims take.
uint64_t DenseBytes(const TensorLayout& layout);

}  // namespace pt::plugins
