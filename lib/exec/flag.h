// Flag: a word that one core sets and others wait for: spinning first, since hand-overs within a run are short, then
// asleep in the kernel, since the other core may have been taken away. Latch: the same for one waiter, who may destroy
// it at once.
#pragma once

#include <cstdint>

#include "lib/exec/run_limits.h"
#include "lib/exec/spin_timer.h"
#include "lib/exec/sync.h"

namespace pt {

class Flag {
 public:
  uint32_t value() const { return word_.load(std::memory_order_acquire); }
  void Set(uint32_t value);
  // Adds 1 and returns the new value.
  uint32_t Add();
  // How many sleep, or are about to: for tests.
  uint32_t sleepers() const { return sleepers_.load(); }

  // Returns once ready(value()) is true, or, false then, when the limits are over first. They are looked at only while
  // the caller would sleep.
  template <typename Ready>
  bool WaitWithin(const RunLimits& limits, Ready ready, SpinTimer timer) {
    if (Spin(ready, timer)) return true;
    // Sequentially consistent on both sides: either the setter sees the sleeper or the sleeper the value.
    sleepers_.fetch_add(1);
    uint32_t seen = word_.load();
    while (!ready(seen) && !limits.Over()) {
      Sleep(seen, limits.NextLookNs());
      seen = word_.load();
    }
    sleepers_.fetch_sub(1);
    return ready(seen);
  }
  // The same without limits. Returns how many turns it has spun.
  template <typename Ready>
  uint32_t Wait(Ready ready, SpinTimer timer) {
    if (Spin(ready, timer)) return timer.turns();
    sleepers_.fetch_add(1);
    for (uint32_t seen = word_.load(); !ready(seen); seen = word_.load()) Sleep(seen, RunLimits::kNever);
    sleepers_.fetch_sub(1);
    return timer.turns();
  }
  void WaitEqual(uint32_t wanted, bool crowded) {
    Wait([wanted](uint32_t v) { return v == wanted; }, SpinTimer(crowded));
  }

 private:
  template <typename Ready>
  bool Spin(Ready ready, SpinTimer& timer) const {
    do {
      if (ready(value())) return true;
    } while (timer.KeepSpinning());
    return false;
  }
  void Sleep(uint32_t seen, int64_t until_ns);  // until the word is no longer `seen`, that time, or spuriously
  void WakeSleepers();

  Atomic<uint32_t> word_{0};
  Atomic<uint32_t> sleepers_{0};
};

// Set once for one waiter. Whoever sets it never touches it afterwards, so that the waiter may destroy it at once.
class Latch {
 public:
  void Reset() { word_.store(kOpen, std::memory_order_relaxed); }  // no thread waits or sets
  void Set();
  // False when the limits are over first; looked at only while the caller would sleep.
  bool WaitWithin(const RunLimits& limits, SpinTimer timer);
  void Wait(SpinTimer timer) { WaitWithin(RunLimits(), timer); }

 private:
  static constexpr uint32_t kOpen = 0, kAwaited = 1, kSet = 2;
  Atomic<uint32_t> word_{kOpen};
};

}  // namespace pt
