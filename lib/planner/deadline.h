// Deadline: when planning has to end, by a limit of time or by who watches. Asked inside every loop that is long on
// large graphs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "partitiontuner/planner/planner.h"

namespace pt {

// Thread-safe.
class Deadline {
 public:
  // problem.time_limit_ns from now on, by problem.now_ns; never over without a limit.
  explicit Deadline(const PlanningProblem& problem) : watch_(problem.watch), now_ns_(problem.now_ns) {
    if (problem.time_limit_ns <= 0) return;
    from_ns_ = NowNs();
    until_ns_ = from_ns_ + std::min(problem.time_limit_ns, INT64_MAX - from_ns_ - 1);
  }

  bool is_limited() const { return until_ns_ != INT64_MAX; }
  // Since the beginning, where there is a limit.
  int64_t spent_ns() const { return NowNs() - from_ns_; }
  // For problems that are part of this one; at least 1, 0 without a limit.
  int64_t left_ns() const { return is_limited() ? std::max<int64_t>(1, until_ns_ - kept_ns_ - NowNs()) : 0; }
  // What has no plan yet ends as soon as it can with one.
  bool IsOver() const { return IsInterrupted() || (is_limited() && NowNs() >= until_ns_ - kept_ns_); }
  // Somebody wants planning to end now, whether there is a plan or not.
  bool IsInterrupted() const { return pt::IsInterrupted(watch_); }
  // It is over so long before: what there is to do afterwards takes that.
  void Keep(int64_t ns) { kept_ns_ = ns; }
  // What is under way need not end: there is a plan, or none is wanted any more.
  bool GivesUp() const { return IsInterrupted() || (may_give_up_ && IsOver()); }
  void AllowGivingUp() { may_give_up_ = true; }

 private:
  int64_t NowNs() const {
    if (now_ns_) return now_ns_();
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }

  const PlanningWatch* watch_;
  std::function<int64_t()> now_ns_;
  int64_t from_ns_ = 0, until_ns_ = INT64_MAX;
  std::atomic<int64_t> kept_ns_ = 0;
  std::atomic<bool> may_give_up_ = false;
};

}  // namespace pt
