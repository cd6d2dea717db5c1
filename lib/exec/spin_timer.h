// SpinTimer: how long a loop may spin before its thread sleeps.
#pragma once

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

// It never yields: on a busy machine that costs a whole time slice, while who sleeps is woken at once.
class SpinTimer {
 public:
  // `crowded`: more threads than cores, so that spinning keeps away whom one waits for.
  explicit SpinTimer(bool crowded);
  // For waits that are known to be long: not a single turn.
  static SpinTimer None();
  // False when it is time to sleep.
  bool KeepSpinning();
  uint32_t turns() const { return turns_; }
  // For loops that nothing can wake: a pause of some tens of microseconds.
  static void Doze();

 private:
  int64_t limit_ns_;
  uint32_t turns_ = 0;
  int64_t since_ns_ = 0;
};

}  // namespace pt
