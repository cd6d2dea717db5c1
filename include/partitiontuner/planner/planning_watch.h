// PlanningWatch: looks on while a plan is made, and may end that early with what was found until then.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace pt {

// Thread-safe. Outlives the planning that it watches.
class PlanningWatch {
 public:
  // ends: true from some time on; asked in every loop of planners, so it must be cheap. Empty: never.
  explicit PlanningWatch(std::function<bool()> ends = {}) : ends_(std::move(ends)) {}
  PlanningWatch(const PlanningWatch&) = delete;

  // Planning is to end with the best plan so far.
  bool ends() const { return ends_ && ends_(); }

  // The smallest makespan that was offered; 0 before the first.
  int64_t best_ns() const { return best_ns_; }
  void Offer(int64_t makespan_ns) {
    int64_t best = best_ns_;
    while ((best == 0 || makespan_ns < best) && !best_ns_.compare_exchange_weak(best, makespan_ns)) {
    }
  }

  // From now on plans run and are timed: whoever watches should keep quiet.
  void StartMeasuring() { measures_ = true; }
  bool measures() const { return measures_; }

 private:
  std::function<bool()> ends_;
  std::atomic<int64_t> best_ns_ = 0;
  std::atomic<bool> measures_ = false;
};

// Where somebody watches at all.
inline bool IsInterrupted(const PlanningWatch* watch) { return watch != nullptr && watch->ends(); }

}  // namespace pt
