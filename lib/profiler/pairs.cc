#include "lib/profiler/pairs.h"

#include <algorithm>
#include <chrono>

namespace pt {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kPairs = 11;
constexpr uint32_t kLeastPairs = 3;
constexpr int64_t kLongNs = 20'000'000;  // after so much time the least number of pairs is enough

}  // namespace

Status MeasurePairs(DeviceLocks& locks, WorkItem& item, const TakeTime& before, const TakeTime& after) {
  const Clock::time_point begin = Clock::now();
  for (uint32_t pair = 0; pair <= kPairs; ++pair) {
    PT_CHECK_OK(locks.Hold(kHostDevice, [&]() -> Status {
      PT_ASSIGN(const Timing first, before());
      PT_ASSIGN(const Timing second, after());
      if (pair == 0) return {};
      auto& samples = first.preempted || second.preempted ? item.preempted : item.samples;
      samples.push_back(std::max<int64_t>(1, second.ns - first.ns));
      return {};
    }));
    if (pair >= kLeastPairs && (Clock::now() - begin).count() > kLongNs) break;
  }
  if (item.samples.empty()) item.samples = item.preempted;
  item.done = true;
  return {};
}

}  // namespace pt
