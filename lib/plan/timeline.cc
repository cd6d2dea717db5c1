#include "partitiontuner/plan/timeline.h"

#include <algorithm>
#include <cmath>

#include "lib/plan/event_run.h"
#include "lib/plan/job_maker.h"
#include "lib/plan/work.h"
#include "partitiontuner/plan/memory_plan.h"

namespace pt {

DeviceCosts DeviceCostsOf(const Platform& platform, const CostModel& costs) {
  DeviceCosts device_costs;
  for (size_t d = 0; d < platform.devices.size(); ++d) {
    device_costs.push_back(costs.OfDevice(DeviceId(d)));
    if (!platform.devices[d].captures) device_costs.back().segments.reset();
  }
  return device_costs;
}

Simulator::Simulator(const Platform& platform, const CostModel& costs)
    : Simulator(platform, costs, DeviceCostsOf(platform, costs)) {}

Simulator::Simulator(const Platform& platform, const CostModel& costs, DeviceCosts device_costs)
    : platform_(platform),
      costs_(costs),
      lanes_(LanesOf(platform)),
      drivers_(lanes_.driver),
      device_costs_(std::move(device_costs)),
      has_contention_(costs.has_slowdown()),
      has_segments_(
          std::ranges::any_of(device_costs_, [](const DeviceCost& cost) { return cost.segments.has_value(); })) {
  has_stream_waits_ =
      std::ranges::any_of(device_costs_, [](const DeviceCost& cost) { return cost.stream_wait_ns > 0; });
  const size_t classes = platform.unit_classes.size();
  for (size_t from = 0; from < classes; ++from) {
    for (size_t to = 0; to < classes; ++to) {
      PairCost pair = costs.OfPair(UnitClassId(from), UnitClassId(to));
      waits_ns_.push_back(pair.wait.ns);
      fetches_.push_back(std::move(pair.fetch));
    }
  }
  for (size_t u = 0; u < platform.units.size(); ++u) {
    for (const auto& [resource, use] : platform.units[u].uses) {
      has_contention_ |= use < platform.resources[resource.index()].capacity;
    }
    if (launches_segments(platform.device_of(UnitId(u)))) lanes_.driver[u] = Lanes::kNone;
  }
}

int64_t Simulator::wait_ns(UnitId from, UnitId to) const {
  if (from == to) return 0;
  return waits_ns_[PairOf(from, to)];
}

int64_t Simulator::fetch_ns(UnitId from, UnitId to, uint64_t bytes, double share) const {
  if (from == to) return 0;
  const int64_t ns = fetches_[PairOf(from, to)].ns(bytes);
  return share == 1 ? ns : std::llround(share * static_cast<double>(ns));
}

bool Simulator::waits_on_device(UnitId from, UnitId to) const {
  const UnitClass& earlier = platform_.unit_class(platform_.unit(from).unit_class);
  const UnitClass& later = platform_.unit_class(platform_.unit(to).unit_class);
  return !earlier.on_host() && !later.on_host() && earlier.device == later.device;
}

LaunchSegments Simulator::FindSegments(std::span<const TimedStep> steps, std::span<const uint32_t> waits) const {
  HappensBefore order(lanes_, steps.size());
  std::vector<StepId> after;
  for (const TimedStep& step : steps) {
    after.clear();
    for (uint32_t i = step.first_wait; i < step.end_wait; ++i) after.emplace_back(waits[i]);
    order.Append(step.unit, after);
  }
  std::vector<bool> captures;
  for (const DeviceCost& cost : device_costs_) captures.push_back(cost.segments.has_value());
  return FindLaunchSegments(platform_, order, captures);
}

// The waits that the executor enqueues.
std::vector<TimedStep> Simulator::WithStreamWaits(std::span<const TimedStep> steps,
                                                  std::span<const uint32_t> waits) const {
  std::vector<TimedStep> timed(steps.begin(), steps.end());
  HappensBefore order(lanes_, timed.size());
  std::vector<StepId> after;
  for (TimedStep& step : timed) {
    after.clear();
    for (uint32_t i = step.first_wait; i < step.end_wait; ++i) after.emplace_back(waits[i]);
    order.AppendReduced(step.unit, after);
    const auto count = std::ranges::count_if(
        after, [&](StepId predecessor) { return waits_on_device(order.unit(predecessor), step.unit); });
    step.overhead_ns += count * device_cost(platform_.device_of(step.unit)).stream_wait_ns;
  }
  return timed;
}

namespace {

void RunInOrder(JobList& list) {
  for (Job& job : list.jobs) {
    for (const Job::Wait& wait : list.waits_of(job)) {
      const int64_t ready = list.jobs[wait.job].end_ns + wait.ns;
      if (ready <= job.start_ns && job.blocker != Job::kNone) continue;
      if (ready < job.start_ns) continue;
      job.start_ns = ready;
      job.blocker = wait.job;
    }
    job.end_ns = job.start_ns + job.fixed_ns + job.run_ns;
  }
}

}  // namespace

Timeline Simulator::Run(std::span<const TimedStep> steps, std::span<const uint32_t> waits) const {
  return *RunWithin(steps, waits, INT64_MAX);
}

std::optional<Timeline> Simulator::RunWithin(std::span<const TimedStep> steps, std::span<const uint32_t> waits,
                                             int64_t limit_ns) const {
  std::vector<TimedStep> longer;
  if (has_stream_waits_) steps = longer = WithStreamWaits(steps, waits);
  JobMaker maker(*this, platform_, drivers_, steps, waits);
  JobList jobs = has_segments_ ? maker.Make(FindSegments(steps, waits)) : maker.Make();
  if (!has_contention_) {
    RunInOrder(jobs);
  } else if (!EventRun(platform_, costs_, steps, jobs).Run(limit_ns)) {
    return std::nullopt;
  }
  return TimelineOf(steps, jobs);
}

Timeline Simulator::TimelineOf(std::span<const TimedStep> steps, const JobList& list) const {
  Timeline timeline;
  timeline.start_ns.resize(steps.size());
  timeline.end_ns.resize(steps.size());
  timeline.busy_ns.assign(platform_.units.size(), 0);
  uint32_t last = Job::kNone;
  for (uint32_t j = 0; j < list.jobs.size(); ++j) {
    const Job& job = list.jobs[j];
    if (!job.is_work) continue;
    timeline.start_ns[job.step] = job.start_ns;
    timeline.end_ns[job.step] = job.end_ns;
    timeline.busy_ns[steps[job.step].unit.index()] += job.end_ns - job.start_ns;
    if (last == Job::kNone || job.end_ns > timeline.makespan_ns) {
      last = j;
      timeline.makespan_ns = job.end_ns;
    }
  }
  for (uint32_t j = last; j != Job::kNone; j = list.jobs[j].blocker) {
    const StepId step(list.jobs[j].step);
    if (timeline.critical_path.empty() || timeline.critical_path.back() != step) timeline.critical_path.push_back(step);
  }
  std::reverse(timeline.critical_path.begin(), timeline.critical_path.end());
  return timeline;
}

namespace {

Error UnknownCost(size_t step, const std::string& what) {
  return MakeError(ErrorCode::kPartial, "plan.unknown_cost", "step " + std::to_string(step) + ": no cost for " + what,
                   "run pt-profile on this model first");
}

Result<int64_t> TimeOfMove(const Graph& graph, const Platform& platform, const Plan& plan, size_t s,
                           const CostModel& costs) {
  const Step& step = plan.steps[s];
  if (const auto* copy = std::get_if<Copy>(&step.work)) {
    PT_ASSIGN(const uint64_t bytes, InstanceBytes(graph, plan.instances[copy->from.index()]));
    return costs.Copy(bytes, copy->link).ns;
  }
  const auto& reorder = std::get<Reorder>(step.work);
  const Instance& from = plan.instances[reorder.from.index()];
  const Instance& to = plan.instances[reorder.to.index()];
  const std::vector<int64_t> dims = graph.value(from.value).type.static_dims().value_or(std::vector<int64_t>());
  const std::optional<Estimate> estimate = costs.Reorder(dims, from.form, to.form, platform.unit(step.unit).unit_class);
  if (!estimate) {
    return UnknownCost(s, "reordering '" + graph.value(from.value).name + "' from " + ToString(from.form.layout) +
                              " to " + ToString(to.form.layout));
  }
  return estimate->ns;
}

// What step s takes by itself, and the share of fetching that it feels.
Result<double> TimeStep(const Graph& graph, const Platform& platform, const Plan& plan, size_t s,
                        const CostModel& costs, TimedStep& timed) {
  const Step& step = plan.steps[s];
  const auto* group = std::get_if<RunGroup>(&step.work);
  if (group == nullptr) {
    timed.overhead_ns = costs.OfClass(platform.unit(step.unit).unit_class).overhead.ns;
    PT_ASSIGN(timed.run_ns, TimeOfMove(graph, platform, plan, s, costs));
    return kWholeFetch;
  }
  const Candidate& candidate = plan.candidates[group->candidate.index()];
  const StepCost cost = costs.OfStep(candidate);
  if (!cost.run) return UnknownCost(s, NodeLabel(graph, candidate.nodes.front()) + " by " + candidate.library);
  timed.candidate = &candidate;
  timed.overhead_ns = cost.overhead.ns;
  timed.run_ns = cost.run->ns;
  timed.demand = DemandOf(graph, platform, candidate, cost);
  return cost.fetch_share;
}

// All times are the steps' own, but for hand-overs.
class HandOverCosts : public CostModel {
 public:
  HandOverCosts() = default;  // which are free
  HandOverCosts(const Platform& platform, int64_t hand_over_ns) : platform_(&platform), hand_over_ns_(hand_over_ns) {}

  StepCost OfStep(const Candidate&) const override { return {}; }
  ClassCost OfClass(UnitClassId) const override { return {}; }
  PairCost OfPair(UnitClassId from, UnitClassId to) const override {
    PairCost cost;
    if (platform_ == nullptr || !platform_->unit_class(from).on_host() || !platform_->unit_class(to).on_host()) {
      return cost;
    }
    cost.wait.ns = hand_over_ns_;
    return cost;
  }
  Estimate Copy(uint64_t, LinkId) const override { return {}; }
  std::optional<Estimate> Reorder(std::span<const int64_t>, const Form&, const Form&, UnitClassId) const override {
    return std::nullopt;
  }

 private:
  const Platform* platform_ = nullptr;
  int64_t hand_over_ns_ = 0;
};

// The earlier steps that step s waits for. `writer`: by instance, the step that made it last.
void AddWaits(const Plan& plan, size_t s, std::span<const uint32_t> writer, TimedStep& timed,
              std::vector<uint32_t>& waits) {
  timed.first_wait = static_cast<uint32_t>(waits.size());
  for (StepId predecessor : plan.steps[s].after) waits.push_back(predecessor.value);
  // Waits that the lists imply are left out of `after` but still hand data over.
  for (InstanceId in : ReadsOf(plan.steps[s].work)) {
    const uint32_t made_by = writer[in.index()];
    const auto own = waits.begin() + timed.first_wait;
    if (made_by != StepId::kNone && std::find(own, waits.end(), made_by) == waits.end()) waits.push_back(made_by);
  }
  timed.end_wait = static_cast<uint32_t>(waits.size());
}

struct Inputs {
  int64_t fetch_ns = 0;
  UnitId made_on;
};

// What it takes longer to read what other units made, and where the results of the step lie then. An elided step moves
// nothing: its results lie where the largest of its inputs does, and whoever reads them fetches them from there.
// fetch_share: how much of fetching it feels.
Inputs FindInputs(const Graph& graph, const Plan& plan, const Simulator& simulator, const Step& step, bool elided,
                  double fetch_share, std::span<const uint32_t> writer, std::span<const UnitId> made_on) {
  Inputs inputs{0, step.unit};
  uint64_t largest = 0;
  for (InstanceId in : ReadsOf(step.work)) {
    const uint32_t made_by = writer[in.index()];
    if (made_by == StepId::kNone) continue;
    const Result<uint64_t> size = InstanceBytes(graph, plan.instances[in.index()]);
    const uint64_t bytes = size.ok() ? *size : 0;  // known only to the run
    if (!elided) {
      inputs.fetch_ns += simulator.fetch_ns(made_on[made_by], step.unit, bytes, fetch_share);
    } else if (bytes > largest) {
      largest = bytes;
      inputs.made_on = made_on[made_by];
    }
  }
  return inputs;
}

}  // namespace

Result<Timeline> SimulatePlan(const Graph& graph, const Platform& platform, const Plan& plan, const CostModel& costs) {
  const Simulator simulator(platform, costs);
  const std::vector<bool> elided = ElidedSteps(graph, plan);
  std::vector<TimedStep> steps(plan.steps.size());
  std::vector<uint32_t> waits;
  std::vector<uint32_t> writer(plan.instances.size(), StepId::kNone);
  std::vector<UnitId> made_on(plan.steps.size());  // in whose caches the results of each step lie
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    TimedStep& timed = steps[s];
    timed.unit = step.unit;
    timed.elided = elided[s];
    double fetch_share = kWholeFetch;
    if (!elided[s]) {
      PT_ASSIGN(fetch_share, TimeStep(graph, platform, plan, s, costs, timed));
    }
    AddWaits(plan, s, writer, timed, waits);
    const Inputs inputs = FindInputs(graph, plan, simulator, step, elided[s], fetch_share, writer, made_on);
    timed.run_ns += inputs.fetch_ns;
    made_on[s] = inputs.made_on;
    for (InstanceId out : WritesOf(step.work)) writer[out.index()] = static_cast<uint32_t>(s);
  }
  return simulator.Run(steps, waits);
}

SegmentReport SegmentsOf(const Graph& graph, const Platform& platform, const Plan& plan, const CostModel& costs) {
  const DeviceCosts device_costs = DeviceCostsOf(platform, costs);
  std::vector<bool> captures, is_used(platform.devices.size(), false);
  for (const DeviceCost& cost : device_costs) captures.push_back(cost.segments.has_value());
  for (const Step& step : plan.steps) is_used[platform.device_of(step.unit).index()] = true;
  SegmentReport report;
  for (size_t d = 0; d < device_costs.size(); ++d) {
    if (is_used[d] && platform.devices[d].captures && !device_costs[d].segments)
      report.unknown.push_back(platform.devices[d].name);
  }
  const std::vector<bool> elided = ElidedSteps(graph, plan);
  for (const auto& steps : FindLaunchSegments(platform, HappensBefore(platform, plan), captures).steps) {
    const DeviceId device = platform.device_of(plan.steps[steps.front().index()].unit);
    const auto launched = std::ranges::count_if(steps, [&](StepId step) { return !elided[step.index()]; });
    report.launch_ns += device_costs[device.index()].segments->ns(static_cast<size_t>(launched));
    report.segments += 1;
    report.steps += steps.size();
  }
  return report;
}

const CostModel& KnownTimes() {
  static const HandOverCosts costs;
  return costs;
}

Timeline ReplayPlan(const Platform& platform, const Plan& plan, std::span<const int64_t> step_ns,
                    int64_t hand_over_ns) {
  std::vector<TimedStep> steps(plan.steps.size());
  std::vector<uint32_t> waits;
  std::vector<uint32_t> writer(plan.instances.size(), StepId::kNone);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    steps[s].unit = plan.steps[s].unit;
    steps[s].run_ns = step_ns[s];
    AddWaits(plan, s, writer, steps[s], waits);
    for (InstanceId out : WritesOf(plan.steps[s].work)) writer[out.index()] = static_cast<uint32_t>(s);
  }
  return Simulator(platform, HandOverCosts(platform, hand_over_ns)).Run(steps, waits);
}

}  // namespace pt
