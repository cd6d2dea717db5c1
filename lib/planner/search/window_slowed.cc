// A change under contention that may be better: scheduled to its end and run beside everything else.
#include <algorithm>

#include "lib/planner/search/window_scheduler.h"

namespace pt {

// The steps of the trial behind those before it are the whole.
Score WindowScheduler::TrySlowed() {
  Continue(true);
  timed_.clear();
  timed_waits_.clear();
  AddTimed(0, hidden_from_);
  AddTimed(base_steps_, static_cast<uint32_t>(steps_.size()));
  spent_ += timed_.size() * kOfSlowed;
  timeline_ = space_.simulator().RunWithin(timed_, timed_waits_, score_.makespan_ns);
  if (timeline_) result_ = {timeline_->makespan_ns, WorkNow()};
  if (!timeline_ || score_ < result_) {
    Drop();
    return {};
  }
  return result_;
}

void WindowScheduler::AddTimed(uint32_t first, uint32_t end) {
  for (uint32_t s = first; s < end; ++s) {
    const ScheduledStep& step = steps_[s];
    const Option* option = nullptr;
    if (step.choice != kNothing) {
      option = &space_.option((s < base_steps_ ? solution_[step.choice] : ChoiceAt(step.choice)).option);
    }
    TimedStep timed = Timed(step, option);
    timed.first_wait = static_cast<uint32_t>(timed_waits_.size());
    for (uint32_t w = step.first_wait; w < step.end_wait; ++w) {
      timed_waits_.push_back(waits_[w] < base_steps_ ? waits_[w] : waits_[w] - (base_steps_ - hidden_from_));
    }
    timed.end_wait = static_cast<uint32_t>(timed_waits_.size());
    timed_.push_back(timed);
  }
}

}  // namespace pt
