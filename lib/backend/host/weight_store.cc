#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "partitiontuner/backend/backend.h"

namespace pt {
namespace {

// Holds what some kernel still uses; the kernels own the buffers.
class SharedWeightStore : public WeightStore {
 public:
  Result<std::shared_ptr<DeviceBuffer>> Get(Hash128 content, std::string_view format, DeviceDriver& device,
                                            uint64_t bytes, const Fill& fill) override {
    const std::shared_ptr<Slot> slot = SlotOf(Key(content, std::string(format), device.id()));
    // Only those who want this very buffer wait for each other.
    const std::lock_guard lock(slot->mutex);
    if (std::shared_ptr<DeviceBuffer> buffer = slot->buffer.lock()) return buffer;
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> made, device.Allocate(bytes));
    PT_CHECK_OK(fill(*made));
    std::shared_ptr<DeviceBuffer> buffer = std::move(made);
    slot->buffer = buffer;
    return buffer;
  }

  uint64_t bytes() const override {
    const std::lock_guard lock(mutex_);
    uint64_t sum = 0;
    for (const auto& [key, slot] : slots_) {
      const std::lock_guard slot_lock(slot->mutex);
      if (const std::shared_ptr<DeviceBuffer> buffer = slot->buffer.lock()) sum += buffer->bytes();
    }
    return sum;
  }

 private:
  using Key = std::tuple<Hash128, std::string, DeviceId>;
  struct Slot {
    std::mutex mutex;
    std::weak_ptr<DeviceBuffer> buffer;
  };

  std::shared_ptr<Slot> SlotOf(Key key) {
    const std::lock_guard lock(mutex_);
    if (slots_.size() >= swept_size_ * 2) SweepUnused();
    std::shared_ptr<Slot>& slot = slots_[std::move(key)];
    if (!slot) slot = std::make_shared<Slot>();
    return slot;
  }

  // Keeps the table no larger than twice what is in use, however many models come and go.
  void SweepUnused() {
    std::erase_if(slots_,
                  [](const auto& entry) { return entry.second.use_count() == 1 && entry.second->buffer.expired(); });
    swept_size_ = std::max<size_t>(slots_.size(), 64);
  }

  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Slot>> slots_;
  size_t swept_size_ = 64;
};

}  // namespace

std::unique_ptr<WeightStore> MakeWeightStore() { return std::make_unique<SharedWeightStore>(); }

}  // namespace pt
