// Host memory behind DeviceBuffer, aligned to 64 bytes.
#pragma once

#include <memory>

#include "partitiontuner/backend/backend.h"

namespace pt {

// kOutOfMemory when there is none. data() is null for zero bytes.
Result<std::unique_ptr<DeviceBuffer>> MakeAlignedBuffer(uint64_t bytes);

// Of a buffer that MakeAlignedBuffer made: wishes the whole pages within that range onto a memory node, those that have
// been touched already included. Where the system refuses, they stay where they are.
void PlaceOnNode(DeviceBuffer& buffer, uint64_t offset, uint64_t bytes, uint32_t node);

}  // namespace pt
