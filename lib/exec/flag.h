// Flag: a word that one core sets and others wait for: spinning first, since hand-overs within a run are short, then
// asleep in the kernel, since the other core may have been taken away.
#pragma once

#include <atomic>
#include <cstdint>

namespace pt {

// Tells the core that this is a spin loop.
inline void RelaxCore() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Says how long a loop may spin. It never yields: on a busy machine that costs a whole time slice, while who sleeps is
// woken at once.
class SpinTimer {
 public:
  // `crowded`: more threads than cores, so that spinning keeps away whom one waits for.
  explicit SpinTimer(bool crowded);
  // False when it is time to sleep.
  bool KeepSpinning();
  // For loops that nobody can wake: a pause of some tens of microseconds.
  static void Doze();

 private:
  int64_t limit_ns_;
  uint32_t turns_ = 0;
  int64_t since_ns_ = 0;
};

class Flag {
 public:
  uint32_t value() const { return word_.load(std::memory_order_acquire); }
  void Set(uint32_t value);
  // Adds 1 and returns the new value.
  uint32_t Add();

  // Returns once ready(value()) is true.
  template <typename Ready>
  void Wait(Ready ready, bool crowded) {
    SpinTimer timer(crowded);
    do {
      if (ready(value())) return;
    } while (timer.KeepSpinning());
    // Sequentially consistent on both sides: either the setter sees the sleeper or the sleeper the value.
    sleepers_.fetch_add(1);
    for (uint32_t seen = word_.load(); !ready(seen); seen = word_.load()) Sleep(seen);
    sleepers_.fetch_sub(1);
  }
  void WaitEqual(uint32_t wanted, bool crowded) {
    Wait([wanted](uint32_t v) { return v == wanted; }, crowded);
  }

 private:
  void Sleep(uint32_t seen);  // until the word is no longer `seen`, or spuriously
  void WakeSleepers();

  std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace pt
