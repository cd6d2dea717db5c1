#include "lib/exec/spin_timer.h"

#include "lib/exec/clock.h"
#include "lib/exec/device_wait.h"

namespace pt {
namespace {

constexpr int64_t kSpinNs = 100'000;  // about what falling asleep and being woken costs, several times over
constexpr int64_t kCrowdedSpinNs = 5'000;
constexpr uint32_t kTurnsPerLook = 64;  // reading the clock costs more than a turn

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

}  // namespace pt
