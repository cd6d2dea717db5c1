#include "lib/exec/flag.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <limits>

#include "lib/exec/clock.h"

namespace pt {
namespace {

constexpr int64_t kSpinNs = 100'000;  // about what falling asleep and being woken costs, several times over
constexpr int64_t kCrowdedSpinNs = 5'000;
constexpr uint32_t kTurnsPerLook = 64;  // reading the clock costs more than a turn

}  // namespace

SpinTimer::SpinTimer(bool crowded) : limit_ns_(crowded ? kCrowdedSpinNs : kSpinNs) {}

bool SpinTimer::KeepSpinning() {
  RelaxCore();
  if (++turns_ % kTurnsPerLook != 0) return true;
  const int64_t now = NowNs();
  if (since_ns_ == 0) since_ns_ = now;
  return now - since_ns_ <= limit_ns_;
}

void SpinTimer::Doze() {
  const timespec pause = {0, 20'000};
  nanosleep(&pause, nullptr);
}

void Flag::Set(uint32_t value) {
  word_.store(value);
  if (sleepers_.load() != 0) WakeSleepers();
}

uint32_t Flag::Add() {
  const uint32_t value = word_.fetch_add(1) + 1;
  if (sleepers_.load() != 0) WakeSleepers();
  return value;
}

void Flag::Sleep(uint32_t seen) {
  static_assert(sizeof(word_) == sizeof(uint32_t));
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word_), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void Flag::WakeSleepers() {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word_), FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr,
          nullptr, 0);
}

}  // namespace pt
