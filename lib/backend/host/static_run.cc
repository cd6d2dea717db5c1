#include <cstdlib>

#include "lib/backend/host/aligned_buffer.h"
#include "partitiontuner/backend/devices.h"
#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

class NoOutputs : public OutputAllocator {
 public:
  Result<TensorView> Allocate(uint32_t index, DataType, std::span<const int64_t>) override {
    return MakeError(ErrorCode::kInternal, "run.static_output",
                     "output " + std::to_string(index) + " is static: its storage was bound before the run");
  }
};

class UnpooledMemory : public RunMemory {
 public:
  Result<void*> Take(uint64_t bytes) override {
    if (bytes == 0) return nullptr;
    const std::optional<uint64_t> aligned = CheckedAlignUp(bytes, kTensorAlignment);
    void* data = aligned ? std::aligned_alloc(kTensorAlignment, *aligned) : nullptr;
    if (data != nullptr) return data;
    return MakeError(ErrorCode::kOutOfMemory, "run.memory", "no memory for " + std::to_string(bytes) + " bytes");
  }
  void GiveBack(void* data) noexcept override { std::free(data); }
};

class NeverStops : public StopFlag {
 public:
  bool ShouldStop() noexcept override { return false; }
};

}  // namespace

RunContext StaticRun(Stream& stream) {
  static NoOutputs outputs;
  static UnpooledMemory memory;
  static NeverStops stop;
  return {stream, outputs, memory, stop};
}

std::vector<const TensorView*> SlotsOf(std::span<const TensorView> views) {
  std::vector<const TensorView*> slots;
  slots.reserve(views.size());
  for (const TensorView& view : views) slots.push_back(&view);
  return slots;
}

}  // namespace pt
