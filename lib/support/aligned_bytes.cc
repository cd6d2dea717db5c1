#include "partitiontuner/support/aligned_bytes.h"

#include <cstdint>
#include <cstdlib>

#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt {

// No large pages are asked for: loading touches this memory once, and where the host of a virtual machine has given
// away what the machine does not use, a fresh large page costs more than all the small ones in it.
Result<AlignedBytes> AllocateAligned(uint64_t bytes) {
  if (bytes == 0) return AlignedBytes();
  const std::optional<uint64_t> rounded = CheckedAlignUp(bytes, kTensorAlignment);
  // More than any object may have is no question for the allocator.
  void* const data = rounded && *rounded <= PTRDIFF_MAX ? std::aligned_alloc(kTensorAlignment, *rounded) : nullptr;
  if (data == nullptr) {
    return MakeError(ErrorCode::kOutOfMemory, "host.memory", "no " + std::to_string(bytes) + " bytes of host memory");
  }
  return AlignedBytes{std::shared_ptr<void>(data, std::free), {static_cast<std::byte*>(data), bytes}};
}

}  // namespace pt
