#include "lib/exec/device_wait.h"

#include <time.h>

#include <algorithm>

#include "lib/exec/thread_state.h"

namespace pt {
namespace {

constexpr double kSlept = 0.8;             // of the expected time: what is left is for its error
constexpr double kSpunBeyond = 1.2;        // the same: by then it should be over
constexpr int64_t kLeastSleepNs = 30'000;  // falling asleep and being woken takes several microseconds
constexpr int64_t kAskedNs = 100'000, kCrowdedAskedNs = 5'000;
constexpr int64_t kDozeNs = 20'000;
constexpr int64_t kLongestPauseNs = 1'000'000;
constexpr int64_t kFineShare = 1000;  // a doze is no longer noticed where the wait is this many times as long

}  // namespace

DeviceWait::DeviceWait(int64_t now_ns, int64_t expected_ns, bool crowded) : begin_ns_(now_ns), wake_ns_(now_ns) {
  const auto share = [expected_ns](double of) { return static_cast<int64_t>(of * static_cast<double>(expected_ns)); };
  if (share(kSlept) >= kLeastSleepNs) wake_ns_ += share(kSlept);
  spin_until_ns_ = wake_ns_ + (crowded ? kCrowdedAskedNs : kAskedNs);
  if (!crowded) spin_until_ns_ = std::max(spin_until_ns_, begin_ns_ + share(kSpunBeyond));
}

int64_t DeviceWait::PauseNs(int64_t now_ns) const {
  if (now_ns < wake_ns_) return std::min(wake_ns_ - now_ns, kLongestPauseNs);
  const bool spins = now_ns < spin_until_ns_ && now_ns - begin_ns_ < kFineShare * kDozeNs;
  return spins ? 0 : kDozeNs;
}

int64_t ExpectedNs(int64_t predicted_ns, int64_t measured_ns) { return std::min(predicted_ns, measured_ns); }

void SleepFor(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const ScopedTimerSlack prompt(1);
  const timespec pause = {ns / kSecond, ns % kSecond};
  nanosleep(&pause, nullptr);
}

}  // namespace pt
