// Where tensors and scratch memory begin.
#pragma once

#include <cstdint>

namespace pt {

// Bytes: a cache line, and the widest vector there is. Every tensor that is not a slice of another begins at a multiple
// of it, and so does every kernel's scratch memory; kernels count on that.
inline constexpr uint64_t kTensorAlignment = 64;

// Bytes up to the next multiple of it, for sizes known to be far from the end of uint64_t; CheckedAlignUp for others.
constexpr uint64_t AlignUp(uint64_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

}  // namespace pt
