// Memory for a large array that is about to be written whole: aligned as tensors are, and not cleared first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "partitiontuner/support/result.h"

namespace pt {

// Memory that lives as long as its owner.
struct AlignedBytes {
  std::shared_ptr<void> owner;
  std::span<std::byte> bytes;  // at a multiple of kTensorAlignment; contents unspecified
};

// kOutOfMemory when there is none. Of zero bytes: an empty span and no owner.
Result<AlignedBytes> AllocateAligned(uint64_t bytes);

}  // namespace pt
