#include "lib/plan/job_maker.h"

#include <algorithm>

namespace pt {

JobMaker::JobMaker(const Simulator& simulator, const Platform& platform, std::span<const uint32_t> drivers,
                   std::span<const TimedStep> steps, std::span<const uint32_t> waits)
    : simulator_(simulator),
      platform_(platform),
      drivers_(drivers),
      steps_(steps),
      waits_(waits),
      work_of_(steps.size()),
      last_(simulator.lanes().count, Job::kNone) {
  list_.jobs.reserve(2 * steps.size());
  list_.waits.reserve(waits.size() + 4 * steps.size());
}

JobList JobMaker::Make() {
  for (size_t s = 0; s < steps_.size(); ++s) driver(s) == Job::kNone ? AddHostStep(s) : AddLaunchedStep(s);
  return std::move(list_);
}

JobList JobMaker::Make(const LaunchSegments& segments) {
  found_ = &segments;
  segments_.resize(segments.steps.size());
  behind_.resize(platform_.units.size());
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (const uint32_t segment = segments.of_step[s]; segment != LaunchSegments::kNone) {
      AddStepOfSegment(s, segment);
    } else {
      driver(s) == Job::kNone ? AddHostStep(s) : AddLaunchedStep(s);
    }
  }
  return std::move(list_);
}

void JobMaker::Begin(size_t step, Job job) {
  job_ = job;
  job_.step = static_cast<uint32_t>(step);
  job_.first_wait = static_cast<uint32_t>(list_.waits.size());
}

uint32_t JobMaker::End() {
  job_.end_wait = static_cast<uint32_t>(list_.waits.size());
  list_.jobs.push_back(job_);
  return static_cast<uint32_t>(list_.jobs.size() - 1);
}

void JobMaker::WaitFor(size_t step, By by) {
  for (uint32_t i = steps_[step].first_wait; i < steps_[step].end_wait; ++i) {
    const UnitId before = steps_[waits_[i]].unit;
    const By sees = simulator_.waits_on_device(before, steps_[step].unit) ? By::kDevice : By::kHost;
    if (sees == by) list_.waits.push_back({work_of_[waits_[i]], simulator_.wait_ns(before, steps_[step].unit)});
  }
}

void JobMaker::WaitForLanes(size_t step) {
  for (const uint32_t lane : simulator_.lanes().of_unit[steps_[step].unit.index()]) {
    if (last_[lane] != Job::kNone) list_.waits.push_back({last_[lane], 0});
  }
}

void JobMaker::WaitForSegmentsBefore(UnitId unit) {
  if (behind_.empty()) return;
  for (const uint32_t job : behind_[unit.index()]) list_.waits.push_back({job, 0});
  behind_[unit.index()].clear();
}

uint32_t JobMaker::EndWork(size_t step) {
  work_of_[step] = End();
  for (const uint32_t lane : simulator_.lanes().of_unit[steps_[step].unit.index()]) last_[lane] = work_of_[step];
  return work_of_[step];
}

void JobMaker::AddHostStep(size_t step) {
  Begin(step, {.fixed_ns = steps_[step].overhead_ns, .run_ns = steps_[step].run_ns});
  for (uint32_t i = steps_[step].first_wait; i < steps_[step].end_wait; ++i) {
    const UnitId before = steps_[waits_[i]].unit;
    list_.waits.push_back({work_of_[waits_[i]], simulator_.wait_ns(before, steps_[step].unit)});
  }
  WaitForLanes(step);
  EndWork(step);
}

// The launch is the last on the driver, and the work waits for it.
void JobMaker::AddLaunchedStep(size_t step) {
  uint32_t& last = last_[driver(step)];
  Begin(step, {.is_work = false, .fixed_ns = steps_[step].overhead_ns});
  WaitFor(step, By::kHost);
  if (last != Job::kNone) list_.waits.push_back({last, 0});
  last = End();
  Begin(step, {.run_ns = steps_[step].run_ns});
  WaitFor(step, By::kDevice);
  list_.waits.push_back({last, 0});
  WaitForLanes(step);
  WaitForSegmentsBefore(steps_[step].unit);
  EndWork(step);
}

// Waits that the host sees to are for steps before the first one's start, whichever step of the segment has them.
void JobMaker::LaunchSegment(uint32_t index) {
  const std::vector<StepId>& steps = found_->steps[index];
  const size_t first = steps.front().index();
  const auto launched = std::ranges::count_if(steps, [&](StepId step) { return !steps_[step.index()].elided; });
  const SegmentLaunch& launch = *simulator_.device_cost(platform_.device_of(steps_[first].unit)).segments;
  Begin(first, {.is_work = false, .fixed_ns = launch.ns(static_cast<size_t>(launched))});
  for (const StepId step : steps) WaitFor(step.index(), By::kHost);
  if (const uint32_t lane = driver(first); lane != Job::kNone) {
    if (last_[lane] != Job::kNone) list_.waits.push_back({last_[lane], 0});
    segments_[index].launch = last_[lane] = End();
  } else {
    segments_[index].launch = End();
  }
}

void JobMaker::AddStepOfSegment(size_t step, uint32_t index) {
  Segment& segment = segments_[index];
  const UnitId unit = steps_[step].unit;
  const bool is_first = segment.launch == Job::kNone;
  if (is_first) LaunchSegment(index);
  Begin(step, {.run_ns = steps_[step].run_ns});
  WaitFor(step, By::kDevice);
  WaitForLanes(step);
  if (is_first) {
    WaitForSegmentsBefore(unit);
    segment.start.assign(list_.waits.begin() + job_.first_wait, list_.waits.end());
  }
  const auto last = std::ranges::find(segment.last_of, unit, &std::pair<UnitId, uint32_t>::first);
  const bool is_fork = !is_first && last == segment.last_of.end();
  if (is_fork) list_.waits.insert(list_.waits.end(), segment.start.begin(), segment.start.end());
  list_.waits.push_back({segment.launch, 0});
  const uint32_t work = EndWork(step);
  if (last == segment.last_of.end()) {
    segment.last_of.emplace_back(unit, work);
  } else {
    last->second = work;
  }
  if (found_->steps[index].back().index() != step) return;
  // The stream that it was launched on goes on behind all of it.
  std::vector<uint32_t>& behind = behind_[segment.last_of.front().first.index()];
  behind.clear();
  for (size_t i = 1; i < segment.last_of.size(); ++i) behind.push_back(segment.last_of[i].second);
}

}  // namespace pt
