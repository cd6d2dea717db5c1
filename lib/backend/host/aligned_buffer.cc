#include "lib/backend/host/aligned_buffer.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

// Large buffers are worth large pages: without them a run that streams its weights waits for page tables (zfnet with
// 230 MB of weights, in a virtual machine: 17.8 ms against 15.7 ms).
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kPage = 4096;

// The buffer's bytes with what a last large page would add to them: only where at least half of it is used. Nothing on
// overflow.
std::optional<uint64_t> WithLastPage(uint64_t bytes) {
  return CheckedAlignUp(bytes, bytes % kHugePage >= kHugePage / 2 ? kHugePage : kPage);
}

class AlignedBuffer : public DeviceBuffer {
 public:
  AlignedBuffer(void* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  ~AlignedBuffer() override {
    // Whoever gets these pages next has no such wish.
    if (placed_) SetPolicy(0, bytes_, MPOL_DEFAULT, nullptr, 0);
    std::free(data_);
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  void* data() override { return data_; }
  uint64_t bytes() const override { return bytes_; }

  void PlaceOn(uint64_t offset, uint64_t bytes, uint32_t node) {
    constexpr uint32_t kBits = 64, kWords = 16;
    if (node >= kBits * kWords) return;
    unsigned long mask[kWords] = {};
    static_assert(sizeof(mask[0]) * 8 == kBits);
    mask[node / kBits] = 1UL << (node % kBits);
    if (SetPolicy(offset, bytes, MPOL_PREFERRED, mask, kBits * kWords)) placed_ = true;
  }

 private:
  // Of the whole pages in the range. False when there is none, or the system refuses.
  bool SetPolicy(uint64_t offset, uint64_t bytes, int policy, const unsigned long* mask, unsigned long bits) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t start = reinterpret_cast<uintptr_t>(data_) + offset;
    const uintptr_t first = (start + page - 1) / page * page;
    const uintptr_t end = (start + bytes) / page * page;
    if (data_ == nullptr || first >= end) return false;
    return syscall(SYS_mbind, first, end - first, policy, mask, bits, policy == MPOL_DEFAULT ? 0 : MPOL_MF_MOVE) == 0;
  }

  void* data_;
  uint64_t bytes_;
  bool placed_ = false;
};

}  // namespace

Result<std::unique_ptr<DeviceBuffer>> MakeAlignedBuffer(uint64_t bytes) {
  if (bytes == 0) return std::unique_ptr<DeviceBuffer>(new AlignedBuffer(nullptr, 0));
  const bool huge = bytes >= kHugePage / 2;
  const std::optional<uint64_t> rounded = huge ? WithLastPage(bytes) : CheckedAlignUp(bytes, kTensorAlignment);
  void* data = nullptr;
  if (!rounded || posix_memalign(&data, huge ? kHugePage : kTensorAlignment, *rounded) != 0) {
    return MakeError(ErrorCode::kOutOfMemory, "host.memory", "no " + std::to_string(bytes) + " bytes of host memory");
  }
  if (huge) madvise(data, *rounded, MADV_HUGEPAGE);  // a wish: where it is not granted, all works
  return std::unique_ptr<DeviceBuffer>(new AlignedBuffer(data, bytes));
}

void PlaceOnNode(DeviceBuffer& buffer, uint64_t offset, uint64_t bytes, uint32_t node) {
  static_cast<AlignedBuffer&>(buffer).PlaceOn(offset, bytes, node);
}

}  // namespace pt
