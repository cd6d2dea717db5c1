// What a run tells of itself: how long it took, and when each step ran.
#include <algorithm>

#include "lib/exec/clock.h"
#include "lib/exec/run_state.h"

namespace pt {
void RunState::PrepareTimeline() {
  simulator_.emplace(plan_.machine.platform(), KnownTimes(), KnownDeviceCosts());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    TimedStep step;
    step.unit = plan_.steps[i].unit;
    step.overhead_ns = plan_.steps[i].known_launch_ns;
    step.run_ns = plan_.steps[i].known_ns;
    step.demand = plan_.steps[i].demand;
    step.elided = plan_.places.actions[i] == StepAction::kNothing;
    step.first_wait = static_cast<uint32_t>(timed_waits_.size());
    for (StepId predecessor : plan_.program.predecessors[i]) timed_waits_.push_back(predecessor.value);
    step.end_wait = static_cast<uint32_t>(timed_waits_.size());
    timed_steps_.push_back(step);
  }
}

// Launching takes no core's time on a virtual clock either: it is known like the rest.
DeviceCosts RunState::KnownDeviceCosts() const {
  const Platform& platform = plan_.machine.platform();
  DeviceCosts costs(platform.devices.size());
  for (const DeviceId device : plan_.devices) {
    if (!plan_.captures(device) || !plan_.machine.driver(device).HasVirtualClock()) continue;
    costs[device.index()] = SimulatedDeviceCost(platform, device);
  }
  return costs;
}

// The device keeps a clock that tells when the step ran.
bool RunState::HasDeviceTimes(StepId step) const {
  return plan_.asynchronous(step) && !plan_.driver(step).HasVirtualClock();
}

// Only runs that are timed need events that keep time.
Event& RunState::EndOf(StepId step) const {
  return timed_ && HasDeviceTimes(step) ? *end_events_[step.index()] : *events_[step.index()];
}

// Events that keep time are made for the first run that is timed. Each device's clock is tied to the host's by
// an event on a stream that has nothing to do.
Status RunState::PrepareTrace() {
  start_events_.resize(plan_.steps.size());
  end_events_.resize(plan_.steps.size());
  clocks_.resize(plan_.machine.platform().devices.size());
  for (DeviceClock& clock : clocks_) clock.host_ns = 0;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (!HasDeviceTimes(StepId(i))) continue;
    DeviceDriver& driver = plan_.driver(StepId(i));
    for (auto* events : {&start_events_, &end_events_}) {
      if ((*events)[i]) continue;
      PT_ASSIGN((*events)[i], driver.MakeEvent());
    }
    DeviceClock& clock = clocks_[driver.id().index()];
    if (clock.host_ns != 0) continue;
    if (!clock.event) {
      PT_ASSIGN(clock.event, driver.MakeEvent());
    }
    PT_CHECK_OK(streams_[plan_.steps[i].unit.index()]->Record(*clock.event));
    clock.host_ns = NowNs();
  }
  return {};
}

void RunState::AddDeviceTimes(StepId step) {
  const DeviceClock& clock = clocks_[plan_.driver(step).id().index()];
  const Result<int64_t> start = start_events_[step.index()]->ElapsedNs(*clock.event);
  const Result<int64_t> end = end_events_[step.index()]->ElapsedNs(*clock.event);
  StepTimes& times = times_[step.index()];
  times.end_ns = times.start_ns;
  if (!start.ok() || !end.ok()) return;
  times.start_ns = clock.host_ns + *start;
  times.end_ns = clock.host_ns + *end;
}

// Put together from what the host's steps really took and what is known of the devices.
Timeline RunState::VirtualTimeline() {
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const StepId step(i);
    if (HasDeviceTimes(step)) AddDeviceTimes(step);
    if (plan_.asynchronous(step) && plan_.driver(step).HasVirtualClock()) continue;
    timed_steps_[i].run_ns = times_[i].end_ns - times_[i].start_ns;
  }
  return simulator_->Run(timed_steps_, timed_waits_);
}

RunReport RunState::ReportOf(int64_t start_ns, const Timeline& timeline) const {
  RunReport report;
  report.alone = alone_;
  report.simulated = plan_.simulated;
  if (alone_) {
    report.makespan_ns = cores_[0].end_ns - cores_[0].begin_ns;
  } else if (plan_.virtual_clock) {
    report.makespan_ns = timeline.makespan_ns;
  } else if (!cores_.empty()) {
    int64_t begin = cores_[0].begin_ns;
    int64_t end = cores_[0].end_ns;
    for (const CoreState& core : cores_) {
      begin = std::min(begin, core.begin_ns);
      end = std::max(end, core.end_ns);
    }
    report.makespan_ns = end - begin;
  }
  const bool recorded = std::ranges::any_of(cores_, &CoreState::recorded);
  for (const CoreState& core : cores_) {
    if (!plan_.virtual_clock && !recorded) report.segment_launch_ns += core.segment_launch_ns;
  }
  report.wall_ns = NowNs() - start_ns;
  return report;
}

void RunState::FillTrace(Trace& trace, const RunReport& report, const Timeline& timeline) {
  trace.run_ns = report.makespan_ns;
  trace.events.resize(plan_.steps.size());
  int64_t begin = cores_.empty() ? 0 : cores_[0].begin_ns;
  for (const CoreState& core : cores_) begin = std::min(begin, core.begin_ns);
  std::vector<int64_t> lane_free(simulator_ ? simulator_->lanes().count : 0, 0);
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    TraceEvent& event = trace.events[i];
    event.step = StepId(i);
    event.unit = plan_.steps[i].unit;
    event.simulated = plan_.virtual_clock;
    if (simulator_) {
      const std::vector<uint32_t>& lanes = simulator_->lanes().of_unit[event.unit.index()];
      event.start_ns = timeline.start_ns[i];
      event.end_ns = timeline.end_ns[i];
      event.wait_ns = event.start_ns - lane_free[lanes.front()];
      for (uint32_t lane : lanes) lane_free[lane] = event.end_ns;
      continue;
    }
    if (HasDeviceTimes(StepId(i))) AddDeviceTimes(StepId(i));
    event.wait_ns = times_[i].wait_ns;
    event.start_ns = times_[i].start_ns - begin;
    event.end_ns = times_[i].end_ns - begin;
  }
}

}  // namespace pt
