#include "lib/plan/event_run.h"

#include <algorithm>
#include <cmath>

namespace pt {
namespace {

constexpr double kRoundingNs = 1e-3;  // less than this left is rounding

}  // namespace

EventRun::EventRun(const Platform& platform, const CostModel& costs, std::span<const TimedStep> steps, JobList& list)
    : platform_(platform),
      costs_(costs),
      has_slowdown_(costs.has_slowdown()),
      steps_(steps),
      list_(list),
      open_(list.jobs.size()),
      ready_ns_(list.jobs.size(), 0),
      asked_(platform.resources.size(), 0) {
  IndexFollowers();
}

// In the order of their jobs.
void EventRun::IndexFollowers() {
  const size_t count = list_.jobs.size();
  first_follower_.assign(count + 1, 0);
  for (const Job::Wait& wait : list_.waits) ++first_follower_[wait.job + 1];
  for (size_t j = 0; j < count; ++j) first_follower_[j + 1] += first_follower_[j];
  followers_.resize(list_.waits.size());
  std::vector<uint32_t> next(first_follower_.begin(), first_follower_.end() - 1);
  for (uint32_t j = 0; j < count; ++j) {
    const Job& job = list_.jobs[j];
    open_[j] = job.end_wait - job.first_wait;
    for (const Job::Wait& wait : list_.waits_of(job)) followers_[next[wait.job]++] = {j, wait.ns};
  }
}

void EventRun::IndexBounds() {
  after_ns_.assign(list_.jobs.size(), 0);
  left_ns_.assign(platform_.resources.size(), 0);
  for (auto j = static_cast<uint32_t>(list_.jobs.size()); j-- > 0;) {
    const Job& job = list_.jobs[j];
    const int64_t tail_ns = job.fixed_ns + job.run_ns + after_ns_[j];
    for (const Job::Wait& wait : list_.waits_of(job)) {
      after_ns_[wait.job] = std::max(after_ns_[wait.job], wait.ns + tail_ns);
    }
    if (!job.is_work) continue;
    for (const auto& [resource, share] : UsesOf(j)) {
      left_ns_[resource.index()] +=
          static_cast<double>(job.run_ns) * Asked(j, share) / platform_.resources[resource.index()].capacity;
    }
  }
}

bool EventRun::Run(int64_t limit_ns) {
  is_limited_ = limit_ns < INT64_MAX;
  if (is_limited_) IndexBounds();
  // What is left out as rounding adds up to no more.
  const double limit = static_cast<double>(limit_ns) + 1 + kRoundingNs * static_cast<double>(list_.jobs.size());
  for (uint32_t j = 0; j < list_.jobs.size(); ++j) {
    if (open_[j] == 0) starts_.emplace(0.0, j);
  }
  while (!starts_.empty() || !running_.empty()) {
    AdvanceTo(NextEvent());
    EndWhatIsOver();
    StartWhatIsReady();
    FindFactors();
    if (is_limited_ && IsHopeless(limit)) return false;
  }
  return true;
}

double EventRun::NextEvent() const {
  double next = starts_.empty() ? INFINITY : starts_.top().first;
  for (const Running& run : running_) {
    next = std::min(next, now_ns_ + run.left_fixed_ns + run.left_run_ns * run.factor);
  }
  return next;
}

void EventRun::AdvanceTo(double ns) {
  for (Running& run : running_) {
    double passed = ns - now_ns_;
    const double fixed = std::min(passed, run.left_fixed_ns);
    run.left_fixed_ns -= fixed;
    passed -= fixed;
    const double left_ns = std::max(0.0, run.left_run_ns - passed / run.factor);
    const double done_ns = run.left_run_ns - left_ns;
    run.left_run_ns = left_ns;
    if (!is_limited_ || done_ns == 0) continue;
    for (const auto& [resource, share] : UsesOf(run.job)) {
      left_ns_[resource.index()] -= done_ns * Asked(run.job, share) / platform_.resources[resource.index()].capacity;
    }
  }
  now_ns_ = ns;
}

void EventRun::EndWhatIsOver() {
  ended_.clear();
  std::erase_if(running_, [&](const Running& run) {
    const bool over = run.left_fixed_ns + run.left_run_ns < kRoundingNs;
    if (over) ended_.push_back(run.job);
    return over;
  });
  for (uint32_t job : ended_) End(job);
}

void EventRun::End(uint32_t j) {
  Job& job = list_.jobs[j];
  job.end_ns = std::max(job.start_ns, static_cast<int64_t>(std::llround(now_ns_)));
  for (uint32_t f = first_follower_[j]; f < first_follower_[j + 1]; ++f) {
    const auto& [follower, wait_ns] = followers_[f];
    const double at = now_ns_ + static_cast<double>(wait_ns);
    if (at >= ready_ns_[follower]) {
      ready_ns_[follower] = at;
      list_.jobs[follower].blocker = j;
    }
    if (--open_[follower] == 0) starts_.emplace(ready_ns_[follower], follower);
  }
}

void EventRun::StartWhatIsReady() {
  while (!starts_.empty() && starts_.top().first <= now_ns_) {
    const uint32_t j = starts_.top().second;
    starts_.pop();
    Job& job = list_.jobs[j];
    job.start_ns = static_cast<int64_t>(std::llround(now_ns_));
    const auto place =
        std::find_if(running_.begin(), running_.end(), [j](const Running& other) { return other.job > j; });
    running_.insert(place, {j, static_cast<double>(job.fixed_ns), static_cast<double>(job.run_ns), 1});
  }
}

void EventRun::FindFactors() {
  for (const Running& run : running_) {
    for (const auto& [resource, share] : UsesOf(run.job)) asked_[resource.index()] = 0;
  }
  for (const Running& run : running_) {
    if (!list_.jobs[run.job].is_work) continue;
    for (const auto& [resource, share] : UsesOf(run.job)) asked_[resource.index()] += Asked(run.job, share);
  }
  for (Running& run : running_) {
    run.factor = 1;
    if (!list_.jobs[run.job].is_work) continue;
    for (const auto& [resource, share] : UsesOf(run.job)) {
      run.factor = std::max(run.factor, asked_[resource.index()] / platform_.resources[resource.index()].capacity);
    }
    if (has_slowdown_) run.factor *= Slowdown(run);
  }
}

double EventRun::Slowdown(const Running& run) {
  const auto candidate = [&](const Running& of) { return steps_[list_.jobs[of.job].step].candidate; };
  if (candidate(run) == nullptr) return 1;
  beside_.clear();
  for (const Running& other : running_) {
    if (other.job != run.job && list_.jobs[other.job].is_work && candidate(other) != nullptr) {
      beside_.push_back(candidate(other));
    }
  }
  return beside_.empty() ? 1 : std::max(1.0, costs_.Slowdown(*candidate(run), beside_));
}

// However fast everything is from now on: no job ends before its work is done, what follows it comes behind that, and
// no resource does more than its whole at once.
bool EventRun::IsHopeless(double limit_ns) const {
  const auto is_late = [&](const Running& run) {
    const double left_ns = run.left_fixed_ns + run.left_run_ns + static_cast<double>(after_ns_[run.job]);
    return now_ns_ + left_ns > limit_ns;
  };
  return std::any_of(running_.begin(), running_.end(), is_late) ||
         std::any_of(left_ns_.begin(), left_ns_.end(), [&](double left_ns) { return now_ns_ + left_ns > limit_ns; });
}

}  // namespace pt
