// SlotSet: some of a value's slots (see Space). Nearly always they are few and low, and fit one word; a value with many
// forms on many devices has more.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace pt {

class SlotSet {
 public:
  SlotSet() = default;
  explicit SlotSet(uint32_t slot) { Insert(slot); }

  bool empty() const { return low_ == 0 && high_.empty(); }

  bool Contains(uint32_t slot) const {
    return slot < kLow ? (low_ >> slot & 1) != 0 : std::binary_search(high_.begin(), high_.end(), slot);
  }

  void Insert(uint32_t slot) {
    if (slot < kLow) {
      low_ |= uint64_t{1} << slot;
    } else if (const auto place = std::lower_bound(high_.begin(), high_.end(), slot);
               place == high_.end() || *place != slot) {
      high_.insert(place, slot);
    }
  }

  void Insert(const SlotSet& other) {
    low_ |= other.low_;
    for (uint32_t slot : other.high_) Insert(slot);
  }

  void Remove(const SlotSet& other) {
    low_ &= ~other.low_;
    std::erase_if(high_, [&](uint32_t slot) { return other.Contains(slot); });
  }

  void Clear() {
    low_ = 0;
    high_.clear();
  }

  // Calls visit(slot), ascending.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (uint64_t left = low_; left != 0; left &= left - 1) visit(static_cast<uint32_t>(std::countr_zero(left)));
    for (uint32_t slot : high_) visit(slot);
  }

  // Equal for equal sets, and hardly ever for others.
  uint64_t key() const {
    uint64_t key = low_;
    for (uint32_t slot : high_) key = (key ^ slot) * 0x9e3779b97f4a7c15u;
    return key;
  }

  friend bool operator==(const SlotSet&, const SlotSet&) = default;

 private:
  static constexpr uint32_t kLow = 64;
  uint64_t low_ = 0;
  std::vector<uint32_t> high_;  // those from 64 on, ascending
};

}  // namespace pt
