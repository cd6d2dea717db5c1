// Where tensors and scratch memory begin.
#pragma once

#include <cstdint>

namespace pt {

// Bytes: a cache line, and the widest vector there is. Every tensor that is not a slice of another begins at a multiple
// of it, and so does every kernel's scratch memory; kernels count on that.
inline constexpr uint64_t kTensorAlignment = 64;

}  // namespace pt
