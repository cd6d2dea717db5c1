#include "lib/planner/schedule/assemble.h"

#include <algorithm>
#include <cmath>

#include "lib/planner/schedule/device_rules.h"
#include "partitiontuner/plan/happens_before.h"

namespace pt {
namespace {

class Assembler {
 public:
  Assembler(const Space& space, const Solution& solution, const Scheduler& schedule)
      : space_(space),
        solution_(solution),
        schedule_(schedule),
        instance_of_(space.slot_count(), InstanceId()),
        candidate_of_(space.options().size(), PlanCandidateId()) {}

  Plan MakeSteps() {
    HappensBefore order(space_.simulator().lanes(), schedule_.steps().size());
    for (const ScheduledStep& scheduled : schedule_.steps()) {
      Step step;
      step.unit = scheduled.unit;
      step.work = WorkOf(scheduled);
      for (uint32_t w = scheduled.first_wait; w < scheduled.end_wait; ++w) {
        step.after.push_back(StepId(schedule_.waits()[w]));
      }
      order.AppendReduced(step.unit, step.after);
      plan_.steps.push_back(std::move(step));
    }
    return std::move(plan_);
  }

 private:
  InstanceId InstanceOf(ValueId value, uint32_t slot) {
    InstanceId& id = instance_of_[space_.value(value).first + slot];
    if (!id.valid()) {
      id = InstanceId(plan_.instances.size());
      plan_.instances.push_back(space_.instance(value, slot));
    }
    return id;
  }

  Work WorkOf(const ScheduledStep& scheduled) {
    if (scheduled.choice == kNothing) {
      const InstanceId from = InstanceOf(scheduled.value, scheduled.from);
      const InstanceId to = InstanceOf(scheduled.value, scheduled.to);
      if (scheduled.link.valid()) return Copy{from, to, scheduled.link};
      return Reorder{from, to, ""};  // any library that can: costs do not tell them apart
    }
    const uint32_t id = solution_[scheduled.choice].option;
    const Option& option = space_.option(id);
    const Group& group = space_.group(option.group);
    PlanCandidateId& candidate = candidate_of_[id];
    if (!candidate.valid()) {
      candidate = PlanCandidateId(plan_.candidates.size());
      plan_.candidates.push_back(space_.problem().candidates[option.candidate]);
    }
    RunGroup run;
    run.candidate = candidate;
    for (size_t i = 0; i < group.in.size(); ++i) run.in.push_back(InstanceOf(group.in[i], option.in[i]));
    for (size_t i = 0; i < group.out.size(); ++i) run.out.push_back(InstanceOf(group.out[i], option.out[i]));
    return run;
  }

  const Space& space_;
  const Solution& solution_;
  const Scheduler& schedule_;
  Plan plan_;
  std::vector<InstanceId> instance_of_;        // by slot of a value
  std::vector<PlanCandidateId> candidate_of_;  // by option
};

Estimate EstimateOf(const Space& space, const Plan& plan, const Step& step) {
  const CostModel& costs = space.problem().costs;
  const UnitClassId unit_class = space.platform().unit(step.unit).unit_class;
  if (const auto* group = std::get_if<RunGroup>(&step.work)) {
    return costs.OfStep(plan.candidates[group->candidate.index()]).run.value_or(Estimate());
  }
  if (const auto* copy = std::get_if<Copy>(&step.work)) {
    const Result<uint64_t> bytes = InstanceBytes(space.graph(), plan.instances[copy->from.index()]);
    return costs.Copy(bytes.ok() ? *bytes : 0, copy->link);
  }
  const auto& reorder = std::get<Reorder>(step.work);
  const Instance& from = plan.instances[reorder.from.index()];
  const Instance& to = plan.instances[reorder.to.index()];
  const auto dims = space.graph().value(from.value).type.static_dims().value_or(std::vector<int64_t>());
  return costs.Reorder(dims, from.form, to.form, unit_class).value_or(Estimate());
}

// What the plan's waits between cores of the host were measured to take; 0 where that is given otherwise.
int64_t HandOverNs(const Space& space) {
  const Platform& platform = space.platform();
  const std::vector<UnitId> cores = SingleCoreUnits(platform);
  if (cores.size() < 2) return 0;
  const auto class_of = [&](UnitId unit) { return platform.unit(unit).unit_class; };
  const Estimate wait = space.problem().costs.OfPair(class_of(cores.front()), class_of(cores.back())).wait;
  return wait.provenance == Provenance::kMeasured ? wait.ns : 0;
}

// The most doubtful source counts for the whole.
int Doubt(Provenance provenance) {
  switch (provenance) {
    case Provenance::kTable:
      return 0;
    case Provenance::kMeasured:
      return 1;
    case Provenance::kSimulated:
      return 2;
    case Provenance::kEstimated:
      return 3;
  }
  return 3;
}

void FillTimes(const Space& space, const Timeline& timeline, Plan& plan) {
  plan.makespan = {};
  plan.makespan.ns = timeline.makespan_ns;
  plan.complete = true;
  std::vector<Estimate> estimates;
  double known_ns = 0, reference = 0;  // the steps' mean, weighted by their times
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    plan.steps[s].expected_start_ns = timeline.start_ns[s];
    plan.steps[s].expected_ns = timeline.end_ns[s] - timeline.start_ns[s];
    estimates.push_back(EstimateOf(space, plan, plan.steps[s]));
    if (Doubt(estimates[s].provenance) > Doubt(plan.makespan.provenance)) {
      plan.makespan.provenance = estimates[s].provenance;
    }
    plan.complete = plan.complete && estimates[s].provenance != Provenance::kEstimated;
    if (estimates[s].reference_ns == 0) continue;
    known_ns += static_cast<double>(plan.steps[s].expected_ns);
    reference += static_cast<double>(plan.steps[s].expected_ns) * static_cast<double>(estimates[s].reference_ns);
  }
  if (known_ns > 0) plan.report.reference_ns = std::llround(reference / known_ns);
  plan.report.hand_over_ns = HandOverNs(space);
  plan.report.segments = SegmentsOf(space.graph(), space.platform(), plan, space.problem().costs);
  // Independent errors add up by their squares.
  double spread = 0;
  double error_ns = 0;
  for (StepId step : timeline.critical_path) {
    const Estimate& estimate = estimates[step.index()];
    spread += static_cast<double>(estimate.spread_ns) * static_cast<double>(estimate.spread_ns);
    const double error = estimate.relative_error * static_cast<double>(plan.steps[step.index()].expected_ns);
    error_ns += error * error;
  }
  plan.makespan.spread_ns = static_cast<int64_t>(std::llround(std::sqrt(spread)));
  if (timeline.makespan_ns > 0) {
    plan.makespan.relative_error = std::sqrt(error_ns) / static_cast<double>(timeline.makespan_ns);
  }
  plan.report.critical_path = timeline.critical_path;
  for (size_t u = 0; u < timeline.busy_ns.size() && timeline.makespan_ns > 0; ++u) {
    plan.report.busy[space.platform().units[u].name] =
        static_cast<double>(timeline.busy_ns[u]) / static_cast<double>(timeline.makespan_ns);
  }
  plan.report.stopped_by = "done";
}

// Of all devices together; PlanMemory judges each alone.
Status CheckTotalMemory(const Constraints& constraints, const Plan& plan) {
  uint64_t total = 0;
  for (const auto& [device, arena] : plan.memory) total += arena.bytes;
  if (!constraints.total_memory_cap || total <= *constraints.total_memory_cap) return {};
  return MakeError(ErrorCode::kOutOfMemory, "plan.memory",
                   "the plan needs " + std::to_string(total) + " bytes on all devices together where " +
                       std::to_string(*constraints.total_memory_cap) + " are allowed");
}

}  // namespace

Plan StepsOf(const Space& space, const Solution& solution, const Scheduler& schedule) {
  Plan plan = Assembler(space, solution, schedule).MakeSteps();
  plan.lent_on = space.problem().constraints.lent_on;
  return plan;
}

Result<Plan> Assemble(const Space& space, const Solution& solution, std::string planner, Explanations* explanations,
                      std::span<const uint32_t> barriers) {
  PT_CHECK_OK(DeviceRules(space).Check(solution));
  Scheduler schedule(space);
  if (schedule.Run(solution, barriers) >= kImpossible) {
    return MakeError(ErrorCode::kInfeasible, "planner.infeasible",
                     planner + ": some value cannot be moved to where it is read, or the order breaks a dependency");
  }
  Plan plan = StepsOf(space, solution, schedule);
  plan.planner = std::move(planner);
  PT_CHECK_OK(PlanMemory(space.graph(), space.platform(), plan, space.problem().constraints.memory_caps));
  PT_CHECK_OK(CheckTotalMemory(space.problem().constraints, plan));
  PT_ASSIGN(const Timeline timeline, SimulatePlan(space.graph(), space.platform(), plan, space.problem().costs));
  FillTimes(space, timeline, plan);
  if (explanations != nullptr) ExplainPlan(space, plan, timeline, *explanations);
  return plan;
}

std::string PlannerName(std::string_view name, const PlanningProblem& problem) {
  std::string full(name);
  if (!problem.argument.empty()) full += ":" + std::string(problem.argument);
  return full;
}

}  // namespace pt
