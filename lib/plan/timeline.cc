#include "partitiontuner/plan/timeline.h"

#include <algorithm>
#include <cmath>

#include "lib/plan/event_run.h"
#include "lib/plan/work.h"
#include "partitiontuner/plan/memory_plan.h"

namespace pt {

Simulator::Simulator(const Platform& platform, const CostModel& costs)
    : platform_(platform), costs_(costs), lanes_(LanesOf(platform)), has_contention_(costs.has_slowdown()) {
  const size_t classes = platform.unit_classes.size();
  waits_ns_.resize(classes * classes);
  for (size_t from = 0; from < classes; ++from) {
    for (size_t to = 0; to < classes; ++to) {
      waits_ns_[from * classes + to] = costs.WaitCost(UnitClassId(from), UnitClassId(to)).ns;
    }
  }
  for (const Unit& unit : platform.units) {
    for (const auto& [resource, use] : unit.uses) {
      has_contention_ |= use < platform.resources[resource.index()].capacity;
    }
  }
}

int64_t Simulator::wait_ns(UnitId from, UnitId to) const {
  if (from == to) return 0;
  return waits_ns_[platform_.unit(from).unit_class.index() * platform_.unit_classes.size() +
                   platform_.unit(to).unit_class.index()];
}

int64_t Simulator::fetch_ns(UnitId from, UnitId to, uint64_t bytes, double share) const {
  if (from == to) return 0;
  const int64_t ns = costs_.FetchCost(platform_.unit(from).unit_class, platform_.unit(to).unit_class, bytes).ns;
  return share == 1 ? ns : std::llround(share * static_cast<double>(ns));
}

bool Simulator::waits_on_device(UnitId from, UnitId to) const {
  const UnitClass& earlier = platform_.unit_class(platform_.unit(from).unit_class);
  const UnitClass& later = platform_.unit_class(platform_.unit(to).unit_class);
  return !earlier.on_host() && !later.on_host() && earlier.device == later.device;
}

JobList Simulator::MakeJobs(std::span<const TimedStep> steps, std::span<const uint32_t> waits) const {
  JobList list;
  list.jobs.reserve(2 * steps.size());
  list.waits.reserve(waits.size() + 4 * steps.size());
  std::vector<uint32_t> work_of(steps.size());
  std::vector<uint32_t> last(lanes_.count, Job::kNone);  // by lane
  for (size_t s = 0; s < steps.size(); ++s) {
    const TimedStep& step = steps[s];
    const uint32_t driver = lanes_.driver[step.unit.index()];
    const bool launched = driver != Lanes::kNone;
    // What is added waits for the steps that the device, or that the host, sees to.
    const auto add = [&](Job job, bool on_device, bool by_host) {
      job.step = static_cast<uint32_t>(s);
      job.first_wait = static_cast<uint32_t>(list.waits.size());
      for (uint32_t i = step.first_wait; i < step.end_wait; ++i) {
        const UnitId before = steps[waits[i]].unit;
        const bool is_by_host = launched && !waits_on_device(before, step.unit);
        if (is_by_host ? !by_host : !on_device) continue;
        list.waits.push_back({work_of[waits[i]], wait_ns(before, step.unit)});
      }
      if (launched && last[driver] != Job::kNone) list.waits.push_back({last[driver], 0});
      for (uint32_t lane : lanes_.of_unit[step.unit.index()]) {
        if (job.is_work && last[lane] != Job::kNone) list.waits.push_back({last[lane], 0});
      }
      job.end_wait = static_cast<uint32_t>(list.waits.size());
      list.jobs.push_back(job);
      return static_cast<uint32_t>(list.jobs.size() - 1);
    };
    // The work waits for its launch, which is then the last on the driver.
    if (launched) last[driver] = add({.is_work = false, .fixed_ns = step.overhead_ns}, false, true);
    work_of[s] = add({.fixed_ns = launched ? 0 : step.overhead_ns, .run_ns = step.run_ns}, true, false);
    for (uint32_t lane : lanes_.of_unit[step.unit.index()]) last[lane] = work_of[s];
  }
  return list;
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
  JobList jobs = MakeJobs(steps, waits);
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

Result<int64_t> RunTime(const Graph& graph, const Platform& platform, const Plan& plan, size_t s,
                        const CostModel& costs) {
  const Step& step = plan.steps[s];
  if (const auto* group = std::get_if<RunGroup>(&step.work)) {
    const Candidate& candidate = plan.candidates[group->candidate.index()];
    const std::optional<Estimate> estimate = costs.Run(candidate);
    if (!estimate) return UnknownCost(s, NodeLabel(graph, candidate.nodes.front()) + " by " + candidate.library);
    return estimate->ns;
  }
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

// All times are the steps' own, but for hand-overs.
class HandOverCosts : public CostModel {
 public:
  HandOverCosts() = default;  // which are free
  HandOverCosts(const Platform& platform, int64_t hand_over_ns) : platform_(&platform), hand_over_ns_(hand_over_ns) {}

  std::optional<Estimate> Run(const Candidate&) const override { return std::nullopt; }
  Estimate Copy(uint64_t, LinkId) const override { return {}; }
  std::optional<Estimate> Reorder(std::span<const int64_t>, const Form&, const Form&, UnitClassId) const override {
    return std::nullopt;
  }
  Estimate StepOverhead(UnitClassId) const override { return {}; }
  Estimate WaitCost(UnitClassId from, UnitClassId to) const override {
    if (platform_ == nullptr || !platform_->unit_class(from).on_host() || !platform_->unit_class(to).on_host())
      return {};
    Estimate estimate;
    estimate.ns = hand_over_ns_;
    return estimate;
  }
  Estimate FetchCost(UnitClassId, UnitClassId, uint64_t) const override { return {}; }
  double FetchShare(const Candidate&) const override { return 1; }
  double Slowdown(const Candidate&, std::span<const Candidate* const>) const override { return 1; }
  bool has_slowdown() const override { return false; }

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
    if (!elided[s]) {
      timed.overhead_ns = costs.StepOverhead(platform.unit(step.unit).unit_class).ns;
      PT_ASSIGN(timed.run_ns, RunTime(graph, platform, plan, s, costs));
      if (const auto* group = std::get_if<RunGroup>(&step.work)) {
        timed.candidate = &plan.candidates[group->candidate.index()];
        timed.overhead_ns = costs.StepOverheadOf(*timed.candidate).ns;
        timed.demand = DemandOf(graph, platform, *timed.candidate, costs);
      }
    }
    AddWaits(plan, s, writer, timed, waits);
    const double fetch_share = timed.candidate != nullptr ? costs.FetchShare(*timed.candidate) : kWholeFetch;
    const Inputs inputs = FindInputs(graph, plan, simulator, step, elided[s], fetch_share, writer, made_on);
    timed.run_ns += inputs.fetch_ns;
    made_on[s] = inputs.made_on;
    for (InstanceId out : WritesOf(step.work)) writer[out.index()] = static_cast<uint32_t>(s);
  }
  return simulator.Run(steps, waits);
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
