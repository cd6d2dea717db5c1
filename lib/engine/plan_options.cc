#include "partitiontuner/engine/plan_options.h"

#include <algorithm>

namespace pt {

std::chrono::nanoseconds PatienceFor(const Plan& plan) {
  constexpr std::chrono::nanoseconds kLeast = std::chrono::minutes(1);
  constexpr int64_t kTimes = 100;
  int64_t times_predicted = 0;
  if (__builtin_mul_overflow(plan.makespan.ns, kTimes, &times_predicted)) return std::chrono::nanoseconds::max();
  return std::max(kLeast, std::chrono::nanoseconds(times_predicted));
}

}  // namespace pt
