#include "lib/engine/finalists.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lib/engine/contenders.h"
#include "lib/engine/make_plan.h"
#include "lib/engine/median.h"
#include "lib/engine/plan_comparison.h"
#include "lib/engine/plan_runner.h"
#include "lib/engine/predict_plan.h"
#include "lib/engine/rough_costs.h"
#include "lib/engine/traced_costs.h"
#include "partitiontuner/exec/host_pace.h"
#include "partitiontuner/plan/timeline.h"

namespace pt {
namespace {

// On some device beside the host its groups run in several streams.
bool UsesSeveralStreams(const Platform& platform, const Plan& plan) {
  std::map<DeviceId, UnitId> stream_of;
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    if (!std::holds_alternative<RunGroup>(step.work) || platform.device_of(step.unit) == kHostDevice) return false;
    return stream_of.try_emplace(platform.device_of(step.unit), step.unit).first->second != step.unit;
  });
}

// Runs the plan for a while and notes what its steps took.
Status NoteInPlace(const PlanningContext& context, const Plan& plan, const FinalistOptions& options,
                   TracedCosts& costs) {
  PT_ASSIGN(PlanRunner runner, PlanRunner::Make(context, plan, options.inputs));
  PT_ASSIGN(const std::vector<int64_t> step_ns, runner.StepMediansOfTurn(options.turn * options.rounds));
  costs.Note(plan, step_ns);
  return {};
}

Result<Plan> MakePlan(const PlanningContext& context, const Contender& contender) {
  const auto plan_of = [&](const Model& model) {
    return MakeModelPlan(model, context.machine, context.costs, context.profile, contender.options, nullptr, nullptr);
  };
  if (!contender.candidates) return plan_of(context.model);
  Model model = context.model;
  model.candidates = *contender.candidates;
  return plan_of(model);
}

// What is said of all plans of the model, by its first one: a plan of fewer candidates has bounds of its own, which
// the others need not keep.
void CompareWithModel(const Plan& first, Plan& plan) {
  plan.lower_bound_ns = first.lower_bound_ns;
  plan.report.tight_bound = first.report.tight_bound;
  plan.report.baselines_ns = first.report.baselines_ns;
  plan.report.gap = 0;
  if (first.lower_bound_ns > 0) {
    plan.report.gap = static_cast<double>(plan.makespan.ns) / static_cast<double>(first.lower_bound_ns) - 1;
  }
}

// Plans of a profile that was not finished may have steps that no measurement prices: they were planned by a rough
// estimate (MakeModelPlan), and compete by it.
Result<std::vector<Finalist>> MakeFinalists(const PlanningContext& context, const CostModel& beside, uint32_t most) {
  std::vector<Entrant> entrants;
  std::set<std::string> seen;
  const std::unique_ptr<CostModel> covering = MakeCoveringCosts(beside, *context.model.graph, context.machine);
  for (const Contender& contender : ContendersFor(context)) {
    if (!entrants.empty() && IsInterrupted(context.options.watch)) break;
    Result<Plan> plan = MakePlan(context, contender);
    const bool asked_for = entrants.empty();
    if (!plan.ok() && (asked_for || plan.error().code == ErrorCode::kInternal)) return std::move(plan).error();
    if (!plan.ok() || !seen.insert(WorkOf(*plan, *context.model.graph)).second) continue;
    if (contender.candidates) CompareWithModel(entrants.front().finalist.plan, *plan);
    PT_ASSIGN(const Timeline timeline,
              SimulatePlan(*context.model.graph, context.machine.platform(), *plan, *covering));
    const bool several_streams = UsesSeveralStreams(context.machine.platform(), *plan);
    entrants.push_back(
        {{contender.name, *std::move(plan), timeline.makespan_ns}, contender.always_runs, several_streams});
  }
  return Admit(std::move(entrants), most);
}

// Plans made from what the steps of the plan before took in place, beginning with the first finalist. `costs` knows in
// the end what all of them took.
Status AddRefined(const PlanningContext& context, const FinalistOptions& options, TracedCosts& costs,
                  std::vector<Finalist>& finalists) {
  std::set<std::string> seen;
  for (const Finalist& finalist : finalists) seen.insert(WorkOf(finalist.plan, *context.model.graph));
  size_t base = 0;
  for (uint32_t round = 1; round <= options.refine && !IsInterrupted(context.options.watch); ++round) {
    PT_CHECK_OK(NoteInPlace(context, finalists[base].plan, options, costs));
    PlanOptions refined = context.options;
    refined.margin = SplitMargin::kNone;
    Result<Plan> made =
        MakeModelPlan(context.model, context.machine, costs, context.profile, refined, nullptr, nullptr);
    if (!made.ok() && IsInterrupted(context.options.watch)) break;
    PT_ASSIGN(Plan plan, std::move(made));
    if (!seen.insert(WorkOf(plan, *context.model.graph)).second) break;  // what runs in place changes nothing any more
    base = finalists.size();
    const int64_t in_place_ns = plan.makespan.ns;  // beside each other is how its steps were timed
    finalists.push_back({context.options.planner + ", refined " + std::to_string(round), std::move(plan), in_place_ns});
  }
  return {};
}

// The plan as its steps take their time now. What a profile leaves open is priced as it was planned (MakeModelPlan).
Status PredictInPlace(const PlanningContext& context, const FinalistOptions& options, TracedCosts& costs, Plan& plan) {
  const Graph& graph = *context.model.graph;
  const std::unique_ptr<CostModel> covering = MakeCoveringCosts(costs, graph, context.machine);
  costs.set_scale(1);
  PT_CHECK_OK(PredictPlan(graph, context.machine.platform(), *covering, plan));
  PT_CHECK_OK(NoteInPlace(context, plan, options, costs));
  costs.set_scale(costs.pace());
  PT_CHECK_OK(PredictPlan(graph, context.machine.platform(), *covering, plan));
  CompareAnew(context.model, context.machine, *covering, context.options, plan);
  PT_ASSIGN(plan.report.reference_ns, TimeHostPace(context.machine));
  return {};
}

}  // namespace

std::vector<Finalist> Admit(std::vector<Entrant> entrants, uint32_t most) {
  constexpr double kFarBehind = 1.25;  // times the first one's prediction
  const double latest = kFarBehind * static_cast<double>(entrants.front().finalist.beside_ns);
  std::stable_sort(entrants.begin() + 1, entrants.end(),
                   [](const Entrant& a, const Entrant& b) { return a.finalist.beside_ns < b.finalist.beside_ns; });
  // How much streams slow each other down is what predictions know least of.
  const auto other_kind = std::find_if(entrants.begin(), entrants.end(), [&](const Entrant& entrant) {
    return entrant.several_streams != entrants.front().several_streams;
  });
  std::vector<Finalist> admitted = {std::move(entrants.front().finalist)};
  uint32_t others = most - 1;
  for (size_t i = 1; i < entrants.size(); ++i) {
    Entrant& entrant = entrants[i];
    const bool is_near = static_cast<double>(entrant.finalist.beside_ns) <= latest;
    const bool beyond =
        (entrant.always_runs && is_near) || entrants.begin() + static_cast<std::ptrdiff_t>(i) == other_kind;
    if (!beyond && others == 0) continue;
    if (!beyond) --others;
    admitted.push_back(std::move(entrant.finalist));
  }
  return admitted;
}

size_t ChooseFinalist(std::span<Finalist> finalists, std::span<const std::vector<int64_t>> round_medians) {
  constexpr double kLeastGain = 0.005;
  // Of a median, from the median distance to it: for numbers that are normally distributed.
  constexpr double kStandardErrors = 2 * 1.4826 * 1.2533;
  size_t chosen = 0;
  for (size_t i = 0; i < finalists.size(); ++i) {
    const std::vector<int64_t>&own = round_medians[i], &first = round_medians[0];
    std::vector<double> quotients, distances;
    for (size_t r = 0; r < own.size(); ++r) {
      quotients.push_back(static_cast<double>(first[r]) / static_cast<double>(own[r]));
    }
    finalists[i].measured_ns = MedianOf(own);
    finalists[i].speedup = MedianOf(quotients);
    for (double quotient : quotients) distances.push_back(std::abs(quotient - finalists[i].speedup));
    finalists[i].noise = kStandardErrors * MedianOf(std::move(distances)) / std::sqrt(static_cast<double>(own.size()));
    const bool better = finalists[i].speedup - 1 > std::max(kLeastGain, finalists[i].noise);
    if (better && finalists[i].speedup > finalists[chosen].speedup) chosen = i;
  }
  return chosen;
}

Result<FinalChoice> RunFinalists(const PlanningContext& context, const CostModel& beside,
                                 const FinalistOptions& options) {
  if (options.most < 1 || options.rounds < 1) {
    return MakeError(ErrorCode::kUsage, "finalists.count", "finalists need at least one plan and one round");
  }
  FinalChoice choice;
  PT_ASSIGN(choice.finalists, MakeFinalists(context, beside, options.most));
  if (context.options.watch != nullptr) context.options.watch->StartMeasuring();
  TracedCosts in_place(*context.model.graph, context.machine.platform(), context.costs);
  PT_CHECK_OK(AddRefined(context, options, in_place, choice.finalists));
  std::vector<PlanRunner> runners;
  for (const Finalist& finalist : choice.finalists) {
    PT_ASSIGN(PlanRunner runner, PlanRunner::Make(context, finalist.plan, options.inputs));
    runners.push_back(std::move(runner));
  }
  std::vector<std::vector<int64_t>> medians(runners.size());
  for (uint32_t round = 0; round < options.rounds && !IsInterrupted(context.options.watch); ++round) {
    for (size_t i = 0; i < runners.size(); ++i) {
      PT_ASSIGN(const int64_t median, runners[i].MedianOfTurn(options.turn));
      medians[i].push_back(median);
    }
  }
  if (!medians.front().empty()) choice.chosen = ChooseFinalist(choice.finalists, medians);
  Plan& chosen = choice.finalists[choice.chosen].plan;
  if (IsInterrupted(context.options.watch)) {
    chosen.report.stopped_by = "interrupted";
  } else if (options.refine > 0) {
    PT_CHECK_OK(PredictInPlace(context, options, in_place, chosen));
  }
  return choice;
}

}  // namespace pt
