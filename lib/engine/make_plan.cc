#include "lib/engine/make_plan.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/engine/plan_comparison.h"
#include "lib/engine/predict_plan.h"
#include "lib/engine/rough_costs.h"
#include "lib/engine/useful_split.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/profiler/measure.h"

namespace pt {
namespace {

// The plan of one device in the place of a split whose gain is not sure: a plan of more parts has more to go wrong.
void DeclineSplit(const PlanningProblem& problem, const Plan& single, Explanations* explanations, Plan& plan) {
  if (explanations != nullptr) {
    PlanningProblem alone = problem;
    const std::string device = single.planner.substr(single.planner.find(':') + 1);
    alone.argument = device;
    alone.watch = nullptr;
    *explanations = {};
    (void)FindPlanner("single").value()->make_plan(alone, explanations);
  }
  const std::string stopped_by = plan.report.stopped_by;
  plan = single;
  if (stopped_by == "interrupted") plan.report.stopped_by = stopped_by;  // a longer search might have found more
}

// A planner's plan must do here what a plan from a file must.
Status CheckLegal(const Graph& graph, const Machine& machine, const Plan& plan) {
  const Status legal = StatusOf(JudgePlan(graph, machine.platform(), machine.libraries(), plan));
  if (legal.ok()) return {};
  return MakeError(ErrorCode::kInternal, "engine.illegal_plan",
                   "planner " + plan.planner + " made a plan that cannot run: " + legal.error().message);
}

// The planner's answer and what it is compared with; neither stamped nor predicted yet.
struct Planned {
  Plan plan;
  PlanningNotes notes;
  std::map<std::string, int64_t> baselines_ns;
};

Result<Planned> RunPlanner(const Planner& planner, const PlanningProblem& problem, const PlanOptions& options,
                           Explanations* explanations) {
  Planned planned;
  const auto start = std::chrono::steady_clock::now();
  PT_ASSIGN(planned.plan, planner.make_plan(problem, explanations));
  planned.notes.search_time = std::chrono::steady_clock::now() - start;
  planned.plan.planner = options.planner;
  const std::vector<Plan> singles = SingleDevices(problem, planner.name == "single" ? &planned.plan : nullptr);
  for (const Plan& single : singles) planned.baselines_ns[single.planner] = single.makespan.ns;
  if (planner.name != "search" || singles.empty()) return planned;
  const Plan& best = *std::min_element(singles.begin(), singles.end(),
                                       [](const Plan& a, const Plan& b) { return a.makespan.ns < b.makespan.ns; });
  planned.notes.gain = GainOver(problem.graph, problem.platform, problem.costs, planned.plan, best);
  planned.notes.split_declined = options.margin == SplitMargin::kUncertainty && !planned.notes.gain->is_sure();
  if (planned.notes.split_declined) {
    planned.baselines_ns[planned.plan.planner] = planned.plan.makespan.ns;
    DeclineSplit(problem, best, explanations, planned.plan);
  }
  return planned;
}

// No groups of those that have costs cover the model.
bool LeavesNodesUncovered(const Error& error) { return error.id == "planner.no_cover"; }

// By these costs, whatever they lack.
Result<Plan> PlanByCosts(const Model& model, const Machine& machine, const CostModel& costs,
                         const ProfileSummary& profile, const PlanOptions& options, Explanations* explanations,
                         PlanningNotes* notes) {
  PT_ASSIGN(const Planner* planner, FindPlanner(options.planner));
  PlanningProblem problem = ProblemOf(model, machine, costs, options);
  Bound bound = BestBound(problem);
  problem.bound_ns = bound.ns;
  PT_ASSIGN(Planned planned, RunPlanner(*planner, problem, options, explanations));
  if (notes != nullptr) *notes = planned.notes;
  Plan plan = std::move(planned.plan);
  PT_CHECK_OK(NameReorderLibraries(*model.graph, machine, plan));
  PT_CHECK_OK(machine.CheckPlugins());
  SetBound(std::move(bound), plan);
  // As the one timeline sees it, whatever the planner reckoned with.
  PT_CHECK_OK(PredictPlan(*model.graph, machine.platform(), costs, plan));
  plan.report.baselines_ns = std::move(planned.baselines_ns);
  plan.made_for = MadeForOf(model, machine, plan, profile, options);
  PT_CHECK_OK(CheckLegal(*model.graph, machine, plan));
  return plan;
}

}  // namespace

Status NameReorderLibraries(const Graph& graph, const Machine& machine, Plan& plan) {
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    Reorder* reorder = std::get_if<Reorder>(&plan.steps[s].work);
    if (reorder == nullptr || !reorder->library.empty()) continue;
    const Instance& from = plan.instances[reorder->from.index()];
    const Instance& to = plan.instances[reorder->to.index()];
    const std::vector<int64_t> dims = graph.value(from.value).type.static_dims().value_or(std::vector<int64_t>());
    const UnitClassId unit_class = machine.platform().unit(plan.steps[s].unit).unit_class;
    const Library* library = ReorderLibrary(machine, unit_class, dims, from.form, to.form);
    if (library == nullptr) {
      return MakeError(ErrorCode::kInfeasible, "engine.reorder",
                       "step " + std::to_string(s) + " reorders from " + ToString(from.form.layout) + " to " +
                           ToString(to.form.layout) + ", which no library can do");
    }
    reorder->library = library->name();
  }
  return {};
}

Result<Plan> MakeModelPlan(const Model& model, const Machine& machine, const CostModel& costs,
                           const ProfileSummary& profile, const PlanOptions& options, Explanations* explanations,
                           PlanningNotes* notes) {
  Result<Plan> plan = PlanByCosts(model, machine, costs, profile, options, explanations, notes);
  if (plan.ok() || !options.allow_estimates || !LeavesNodesUncovered(plan.error())) return plan;
  // A profile that was not finished may know each node in groups alone that exclude each other.
  if (explanations != nullptr) *explanations = {};
  const std::unique_ptr<CostModel> covering = MakeCoveringCosts(costs, *model.graph, machine);
  Result<Plan> covered = PlanByCosts(model, machine, *covering, profile, options, explanations, notes);
  return covered.ok() ? covered : plan;
}

Result<DispatchPlan> MakeModelDispatchPlan(const Model& model, const Machine& machine, const CostModel& costs,
                                           const ProfileSummary& profile, const PlanOptions& options) {
  PT_ASSIGN(const DispatchRule rule, DispatchRuleNamed(options.planner));
  PlanningProblem problem{*model.graph, machine.platform(), model.candidates, costs, options.constraints};
  problem.time_limit_ns = options.time_limit.count();
  PT_ASSIGN(DispatchPlan dispatch, MakeDispatchPlan(problem, rule));
  Plan& plan = dispatch.plan;
  plan.planner = options.planner;
  PT_CHECK_OK(NameReorderLibraries(*model.graph, machine, plan));
  PT_CHECK_OK(machine.CheckPlugins());
  plan.complete = AllMeasured(*model.graph, machine.platform(), plan, costs);
  plan.made_for = MadeForOf(model, machine, plan, profile, options);
  return dispatch;
}

}  // namespace pt
