#include "lib/exec/flag.h"

#include <limits>

namespace pt {

void Flag::Set(uint32_t value) {
  word_.store(value);
  if (sleepers_.load() != 0) WakeSleepers();
}

uint32_t Flag::Add() {
  const uint32_t value = word_.fetch_add(1) + 1;
  if (sleepers_.load() != 0) WakeSleepers();
  return value;
}

void Flag::Sleep(uint32_t seen, int64_t until_ns) { FutexWait(word_, seen, until_ns); }

void Flag::WakeSleepers() { FutexWake(word_, std::numeric_limits<int>::max()); }

void Latch::Set() {
  // The exchange is the last access: the waiter may be gone after it. Waking an address that no thread sleeps on, or
  // that has been given back, does nothing.
  if (word_.exchange(kSet, std::memory_order_acq_rel) == kAwaited) FutexWake(word_, 1);
}

bool Latch::WaitWithin(const RunLimits& limits, SpinTimer timer) {
  do {
    if (word_.load(std::memory_order_acquire) == kSet) return true;
  } while (timer.KeepSpinning());
  while (true) {
    uint32_t seen = kOpen;
    if (!word_.compare_exchange_strong(seen, kAwaited, std::memory_order_acq_rel) && seen == kSet) return true;
    if (limits.Over()) return word_.load(std::memory_order_acquire) == kSet;
    FutexWait(word_, kAwaited, limits.NextLookNs());
  }
}

}  // namespace pt
