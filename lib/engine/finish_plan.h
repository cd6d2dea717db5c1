// What turns a planner's answer into a plan that can be kept: what it was made for, bounds, report, and the check.
#pragma once

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/engine.h"

namespace pt {

struct ProfileSummary {
  std::string hash;  // of keys and times
  uint64_t samples = 0;
};
ProfileSummary SummaryOf(const Profile& profile);

// Runs options.planner over the model's candidates and finishes its plan. A planner's illegal plan is kInternal, with
// all faults. What explanations and notes hold, when not null, is of the plan that is given.
Result<Plan> PlanWith(const Model& model, const Machine& machine, const CostModel& costs, const ProfileSummary& profile,
                      const PlanOptions& options, Explanations* explanations, PlanningNotes* notes);

// The same for runs that decide where steps go: options.planner names the rule.
Result<DispatchPlan> DispatchPlanWith(const Model& model, const Machine& machine, const CostModel& costs,
                                      const ProfileSummary& profile, const PlanOptions& options);

// Planners know forms, not libraries: each reorder gets the library that does it. kInfeasible where none can.
Status NameReorderLibraries(const Graph& graph, const Machine& machine, Plan& plan);

// Graph, machine and versions, for a plan that is kept by nobody.
void FillMadeFor(const Graph& graph, const Machine& machine, Plan& plan);

// Times, critical path, gap and shares of a plan under these costs, in place of those it has, and whether they are all
// measured. Errors: kPartial.
Status PredictPlan(const Model& model, const Platform& platform, const CostModel& costs, Plan& plan);

// What the plan is compared with, by these costs: the plans of single devices and the bound, in place of those it has.
void CompareAnew(const Model& model, const Machine& machine, const CostModel& costs, const PlanOptions& options,
                 Plan& plan);

}  // namespace pt
