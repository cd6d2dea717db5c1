// What a run changes on the thread it borrows, put back at its end (where the thread may run, how it treats denormal
// numbers, and how late its timers may be).
#pragma once

#include <cstdint>

namespace pt {

// Keeps the calling thread on one core. Where the system refuses, the thread stays where it is: slower, not wrong.
// True when it worked.
bool PinThisThread(uint32_t core);

class ScopedAffinity {
 public:
  // Keeps the calling thread on the core and lets it go again. Both together cost several microseconds, so a `brief`
  // stay is left to the scheduler where the thread runs on that core anyhow.
  ScopedAffinity(uint32_t core, bool brief);
  ~ScopedAffinity();
  ScopedAffinity(const ScopedAffinity&) = delete;
  ScopedAffinity& operator=(const ScopedAffinity&) = delete;

 private:
  static constexpr unsigned kCores = 1 << 14;
  alignas(8) unsigned char before_[kCores / 8];
  bool changed_ = false;
};

// Default rounding and exception masks, with denormals flushed to zero or kept.
class ScopedFloatState {
 public:
  explicit ScopedFloatState(bool flush_denormals);
  ~ScopedFloatState();
  ScopedFloatState(const ScopedFloatState&) = delete;
  ScopedFloatState& operator=(const ScopedFloatState&) = delete;

 private:
  uint64_t before_;
};

// How much later than asked the system may wake the thread from a sleep: 50 us, as threads have it that never said.
class ScopedTimerSlack {
 public:
  explicit ScopedTimerSlack(int64_t ns);
  ~ScopedTimerSlack();
  ScopedTimerSlack(const ScopedTimerSlack&) = delete;
  ScopedTimerSlack& operator=(const ScopedTimerSlack&) = delete;

 private:
  int before_;  // 0 where the system does not say, as for threads of the real-time classes, which have none
};

}  // namespace pt
