#include "lib/exec/thread_state.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace pt {
namespace {

uint64_t ReadFloatState() {
#if defined(__x86_64__) || defined(__i386__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  uint64_t state = 0;
  asm volatile("mrs %0, fpcr" : "=r"(state));
  return state;
#else
  return 0;
#endif
}

void WriteFloatState([[maybe_unused]] uint64_t state) {
#if defined(__x86_64__) || defined(__i386__)
  _mm_setcsr(static_cast<unsigned>(state));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(state));
#endif
}

uint64_t WantedFloatState([[maybe_unused]] bool flush) {
#if defined(__x86_64__) || defined(__i386__)
  constexpr uint64_t kDefault = 0x1f80, kDenormalsAreZero = 0x40, kFlushToZero = 0x8000;
  return kDefault | (flush ? kDenormalsAreZero | kFlushToZero : 0);
#elif defined(__aarch64__)
  return flush ? uint64_t{1} << 24 : 0;
#else
  return 0;
#endif
}

}  // namespace

ScopedAffinity::ScopedAffinity(uint32_t core, bool brief) {
  if (brief && sched_getcpu() == static_cast<int>(core)) return;
  auto* before = reinterpret_cast<cpu_set_t*>(before_);
  std::memset(before_, 0, sizeof(before_));
  if (core >= kCores || sched_getaffinity(0, sizeof(before_), before) != 0) return;
  if (CPU_COUNT_S(sizeof(before_), before) == 1 && CPU_ISSET_S(core, sizeof(before_), before)) return;
  changed_ = PinThisThread(core);
}

ScopedAffinity::~ScopedAffinity() {
  if (changed_) sched_setaffinity(0, sizeof(before_), reinterpret_cast<cpu_set_t*>(before_));
}

bool PinThisThread(uint32_t core) {
  constexpr unsigned kCores = 1 << 14;
  if (core >= kCores) return false;
  alignas(8) unsigned char bytes[kCores / 8] = {};
  auto* wanted = reinterpret_cast<cpu_set_t*>(bytes);
  CPU_SET_S(core, sizeof(bytes), wanted);
  return sched_setaffinity(0, sizeof(bytes), wanted) == 0;
}

ScopedFloatState::ScopedFloatState(bool flush_denormals) : before_(ReadFloatState()) {
  WriteFloatState(WantedFloatState(flush_denormals));
}

ScopedFloatState::~ScopedFloatState() { WriteFloatState(before_); }

ScopedTimerSlack::ScopedTimerSlack(int64_t ns) : before_(std::max(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), 0)) {
  if (before_ != 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(ns), 0, 0, 0);
}

ScopedTimerSlack::~ScopedTimerSlack() {
  if (before_ != 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_), 0, 0, 0);
}

}  // namespace pt
