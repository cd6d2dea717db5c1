#include "partitiontuner/plan/timeline.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "lib/plan/work.h"
#include "partitiontuner/plan/memory_plan.h"

namespace pt {

// What occupies lanes for a while. A step is one job; a step of a unit with a driver is two: the launch on the
// driver's core and the work on the unit.
struct Simulator::Job {
  static constexpr uint32_t kNone = Lanes::kNone;
  struct Wait {
    uint32_t job;
    int64_t ns;
  };
  uint32_t step = 0;
  bool is_work = true;
  std::vector<Wait> waits;  // jobs that end before, and the time from their end to this start
  int64_t fixed_ns = 0, run_ns = 0;
  int64_t start_ns = 0, end_ns = 0;
  uint32_t blocker = kNone;  // the job whose end decided the start
};

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

std::vector<Simulator::Job> Simulator::MakeJobs(std::span<const TimedStep> steps,
                                                std::span<const uint32_t> waits) const {
  std::vector<Job> jobs;
  jobs.reserve(steps.size());
  std::vector<uint32_t> work_of(steps.size());
  std::vector<uint32_t> last(lanes_.count, Job::kNone);  // by lane
  const auto follow = [&](Job& job, uint32_t lane) {
    if (last[lane] != Job::kNone) job.waits.push_back({last[lane], 0});
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    const TimedStep& step = steps[s];
    const uint32_t driver = lanes_.driver[step.unit.index()];
    Job work;
    work.step = static_cast<uint32_t>(s);
    work.run_ns = step.run_ns;
    work.fixed_ns = driver == Lanes::kNone ? step.overhead_ns : 0;
    Job launch;
    for (uint32_t i = step.first_wait; i < step.end_wait; ++i) {
      const uint32_t predecessor = waits[i];
      const bool by_host = driver != Lanes::kNone && !waits_on_device(steps[predecessor].unit, step.unit);
      (by_host ? launch : work).waits.push_back({work_of[predecessor], wait_ns(steps[predecessor].unit, step.unit)});
    }
    if (driver != Lanes::kNone) {
      launch.step = work.step;
      launch.is_work = false;
      launch.fixed_ns = step.overhead_ns;
      follow(launch, driver);
      last[driver] = static_cast<uint32_t>(jobs.size());
      work.waits.push_back({last[driver], 0});
      jobs.push_back(std::move(launch));
    }
    work_of[s] = static_cast<uint32_t>(jobs.size());
    for (uint32_t lane : lanes_.of_unit[step.unit.index()]) {
      follow(work, lane);
      last[lane] = work_of[s];
    }
    jobs.push_back(std::move(work));
  }
  return jobs;
}

void Simulator::RunInOrder(std::vector<Job>& jobs) const {
  for (Job& job : jobs) {
    for (const Job::Wait& wait : job.waits) {
      const int64_t ready = jobs[wait.job].end_ns + wait.ns;
      if (ready <= job.start_ns && job.blocker != Job::kNone) continue;
      if (ready < job.start_ns) continue;
      job.start_ns = ready;
      job.blocker = wait.job;
    }
    job.end_ns = job.start_ns + job.fixed_ns + job.run_ns;
  }
}

double Simulator::Factor(std::span<const TimedStep> steps, const Job& job, std::span<const Job* const> running) const {
  double factor = 1.0;
  const Unit& unit = platform_.unit(steps[job.step].unit);
  for (const auto& [resource, use] : unit.uses) {
    double demand = 0;
    for (const Job* other : running) {
      if (!other->is_work) continue;
      const TimedStep& running_step = steps[other->step];
      for (const auto& [used, share] : platform_.unit(running_step.unit).uses) {
        if (used == resource) demand += running_step.demand > 0 ? running_step.demand : share;
      }
    }
    factor = std::max(factor, demand / platform_.resources[resource.index()].capacity);
  }
  if (steps[job.step].candidate == nullptr) return factor;
  std::vector<const Candidate*> beside;
  for (const Job* other : running) {
    if (other != &job && other->is_work && steps[other->step].candidate != nullptr) {
      beside.push_back(steps[other->step].candidate);
    }
  }
  return beside.empty() ? factor : factor * std::max(1.0, costs_.Slowdown(*steps[job.step].candidate, beside));
}

// A fluid simulation: whenever a job starts or ends, the rates of all that run are computed anew.
void Simulator::RunByEvents(std::span<const TimedStep> steps, std::vector<Job>& jobs) const {
  std::vector<std::vector<std::pair<uint32_t, int64_t>>> followers(jobs.size());
  std::vector<size_t> open(jobs.size());
  std::vector<double> ready(jobs.size(), 0), left_fixed(jobs.size()), left_run(jobs.size()), factor(jobs.size(), 1);
  using Start = std::pair<double, uint32_t>;
  std::priority_queue<Start, std::vector<Start>, std::greater<>> starts;
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    open[j] = jobs[j].waits.size();
    left_fixed[j] = static_cast<double>(jobs[j].fixed_ns);
    left_run[j] = static_cast<double>(jobs[j].run_ns);
    for (const Job::Wait& wait : jobs[j].waits) followers[wait.job].emplace_back(j, wait.ns);
    if (open[j] == 0) starts.emplace(0.0, j);
  }
  std::vector<uint32_t> running;
  std::vector<const Job*> running_jobs;
  double now = 0;
  while (!starts.empty() || !running.empty()) {
    double next = starts.empty() ? INFINITY : starts.top().first;
    for (uint32_t j : running) next = std::min(next, now + left_fixed[j] + left_run[j] * factor[j]);
    for (uint32_t j : running) {
      double passed = next - now;
      const double fixed = std::min(passed, left_fixed[j]);
      left_fixed[j] -= fixed;
      passed -= fixed;
      left_run[j] = std::max(0.0, left_run[j] - passed / factor[j]);
    }
    now = next;
    std::vector<uint32_t> ended;
    std::erase_if(running, [&](uint32_t j) {
      // Less than a thousandth of a nanosecond is rounding.
      const bool over = left_fixed[j] + left_run[j] < 1e-3;
      if (over) ended.push_back(j);
      return over;
    });
    for (uint32_t j : ended) {
      jobs[j].end_ns = std::max(jobs[j].start_ns, static_cast<int64_t>(std::llround(now)));
      for (const auto& [follower, wait_ns] : followers[j]) {
        const double at = now + static_cast<double>(wait_ns);
        if (at >= ready[follower]) {
          ready[follower] = at;
          jobs[follower].blocker = j;
        }
        if (--open[follower] == 0) starts.emplace(ready[follower], follower);
      }
    }
    while (!starts.empty() && starts.top().first <= now) {
      const uint32_t j = starts.top().second;
      starts.pop();
      jobs[j].start_ns = static_cast<int64_t>(std::llround(now));
      running.push_back(j);
    }
    std::sort(running.begin(), running.end());
    running_jobs.clear();
    for (uint32_t j : running) running_jobs.push_back(&jobs[j]);
    for (uint32_t j : running) factor[j] = jobs[j].is_work ? Factor(steps, jobs[j], running_jobs) : 1.0;
  }
}

Timeline Simulator::Run(std::span<const TimedStep> steps, std::span<const uint32_t> waits) const {
  std::vector<Job> jobs = MakeJobs(steps, waits);
  if (has_contention_) {
    RunByEvents(steps, jobs);
  } else {
    RunInOrder(jobs);
  }
  Timeline timeline;
  timeline.start_ns.resize(steps.size());
  timeline.end_ns.resize(steps.size());
  timeline.busy_ns.assign(platform_.units.size(), 0);
  uint32_t last = Job::kNone;
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    const Job& job = jobs[j];
    if (!job.is_work) continue;
    timeline.start_ns[job.step] = job.start_ns;
    timeline.end_ns[job.step] = job.end_ns;
    timeline.busy_ns[steps[job.step].unit.index()] += job.end_ns - job.start_ns;
    if (last == Job::kNone || job.end_ns > timeline.makespan_ns) {
      last = j;
      timeline.makespan_ns = job.end_ns;
    }
  }
  for (uint32_t j = last; j != Job::kNone; j = jobs[j].blocker) {
    const StepId step(jobs[j].step);
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
