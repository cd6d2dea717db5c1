#include "lib/exec/flag.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <limits>

#include "lib/exec/clock.h"
#include "lib/exec/device_wait.h"

namespace pt {
namespace {

constexpr int64_t kSpinNs = 100'000;  // about what falling asleep and being woken costs, several times over
constexpr int64_t kCrowdedSpinNs = 5'000;
constexpr uint32_t kTurnsPerLook = 64;  // reading the clock costs more than a turn

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

// Until the word is no longer `seen`, until that time of NowNs (a monotonic clock's, as the kernel counts it), or
// spuriously.
void FutexWait(std::atomic<uint32_t>& word, uint32_t seen, int64_t until_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec until = {until_ns / kSecond, until_ns % kSecond};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE, seen,
          until_ns == RunLimits::kNever ? nullptr : &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void FutexWake(std::atomic<uint32_t>& word, int most) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
}

}  // namespace

SpinTimer::SpinTimer(bool crowded) : limit_ns_(crowded ? kCrowdedSpinNs : kSpinNs) {}

SpinTimer SpinTimer::None() {
  SpinTimer timer(false);
  timer.limit_ns_ = 0;
  return timer;
}

bool SpinTimer::KeepSpinning() {
  if (limit_ns_ == 0) return false;
  RelaxCore();
  if (++turns_ % kTurnsPerLook != 0) return true;
  const int64_t now = NowNs();
  if (since_ns_ == 0) since_ns_ = now;
  return now - since_ns_ <= limit_ns_;
}

void SpinTimer::Doze() { SleepFor(20'000); }

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
