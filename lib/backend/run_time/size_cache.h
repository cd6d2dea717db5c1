// SizeCache: what a step has made for the sizes that it met, those used last.
#pragma once

#include <atomic>
#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

namespace pt::run_time {

// Room that the steps of a library share beyond what each has of its own, in entries. Thread-safe.
class SharedRoom {
 public:
  explicit SharedRoom(size_t entries) : left_(entries) {}

  bool Take() {
    size_t left = left_.load(std::memory_order_relaxed);
    while (left > 0) {
      if (left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  void GiveBack(size_t entries) { left_.fetch_add(entries, std::memory_order_relaxed); }

 private:
  std::atomic<size_t> left_;
};

// Entries by a hash of what they are for. Where there is no more room, those that were used least recently go. Not
// thread-safe.
template <typename T>
class SizeCache {
 public:
  // own: the room that this one always has.
  SizeCache(size_t own, std::shared_ptr<SharedRoom> shared) : room_(own), shared_(std::move(shared)) {}
  ~SizeCache() { shared_->GiveBack(taken_); }
  SizeCache(const SizeCache&) = delete;
  SizeCache& operator=(const SizeCache&) = delete;

  // Null if there is none. Valid until the next Add.
  template <typename Is>
  T* Find(size_t hash, const Is& is) {
    const auto [first, last] = places_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
      if (!is(at->second->value)) continue;
      entries_.splice(entries_.begin(), entries_, at->second);
      return &entries_.front().value;
    }
    return nullptr;
  }

  // room: what the entry counts for; only those that count for one take shared room. The entry itself always stays.
  T& Add(size_t hash, T value, size_t room) {
    entries_.push_front({hash, room, std::move(value)});
    places_.emplace(hash, entries_.begin());
    used_ += room;
    while (used_ > room_ + taken_ && entries_.size() > 1) {
      if (room == 1 && shared_->Take()) {
        ++taken_;
      } else {
        DropLast();
      }
    }
    return entries_.front().value;
  }

  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    size_t hash, room;
    T value;
  };

  void DropLast() {
    const auto last = std::prev(entries_.end());
    auto place = places_.equal_range(last->hash).first;
    while (place->second != last) ++place;
    places_.erase(place);
    used_ -= last->room;
    entries_.pop_back();
  }

  const size_t room_;
  const std::shared_ptr<SharedRoom> shared_;
  size_t used_ = 0, taken_ = 0;
  std::list<Entry> entries_;  // the one used last first
  std::unordered_multimap<size_t, typename std::list<Entry>::iterator> places_;
};

}  // namespace pt::run_time
