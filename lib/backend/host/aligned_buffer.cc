#include "lib/backend/host/aligned_buffer.h"

#include <cstdlib>

#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

constexpr uint64_t kAlignment = 64;

class AlignedBuffer : public DeviceBuffer {
 public:
  AlignedBuffer(void* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  ~AlignedBuffer() override { std::free(data_); }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  void* data() override { return data_; }
  uint64_t bytes() const override { return bytes_; }

 private:
  void* data_;
  uint64_t bytes_;
};

}  // namespace

Result<std::unique_ptr<DeviceBuffer>> MakeAlignedBuffer(uint64_t bytes) {
  if (bytes == 0) return std::unique_ptr<DeviceBuffer>(new AlignedBuffer(nullptr, 0));
  const std::optional<uint64_t> rounded = CheckedAlignUp(bytes, kAlignment);
  void* data = rounded ? std::aligned_alloc(kAlignment, *rounded) : nullptr;
  if (data == nullptr) {
    return MakeError(ErrorCode::kOutOfMemory, "host.memory",
                     "no " + std::to_string(bytes) + " bytes of host memory");
  }
  return std::unique_ptr<DeviceBuffer>(new AlignedBuffer(data, bytes));
}

}  // namespace pt
