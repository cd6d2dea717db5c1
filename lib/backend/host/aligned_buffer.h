// Host memory behind DeviceBuffer, aligned to 64 bytes.
#pragma once

#include <memory>

#include "partitiontuner/backend/backend.h"

namespace pt {

// kOutOfMemory when there is none. data() is null for zero bytes.
Result<std::unique_ptr<DeviceBuffer>> MakeAlignedBuffer(uint64_t bytes);

}  // namespace pt
