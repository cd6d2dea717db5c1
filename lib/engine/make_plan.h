// Makes plans of a model: the planner's answer, compared, predicted, stamped with what it was made for, and checked.
#pragma once

#include "lib/engine/made_for.h"
#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/model.h"
#include "partitiontuner/engine/plan_options.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/planner/dispatch.h"
#include "partitiontuner/planner/planner.h"

namespace pt {

// Runs options.planner over the model's candidates and finishes its plan. Where the costs leave nodes uncovered, as
// those of a profile that was not finished may, and estimates are allowed, rough ones fill them up. A planner's illegal
// plan is kInternal, with all faults. What explanations and notes hold, when not null, is of the plan that is given.
Result<Plan> MakeModelPlan(const Model& model, const Machine& machine, const CostModel& costs,
                           const ProfileSummary& profile, const PlanOptions& options, Explanations* explanations,
                           PlanningNotes* notes);

// The same for runs that decide where steps go: options.planner names the rule.
Result<DispatchPlan> MakeModelDispatchPlan(const Model& model, const Machine& machine, const CostModel& costs,
                                           const ProfileSummary& profile, const PlanOptions& options);

// Planners know forms, not libraries: each reorder gets the library that does it. kInfeasible where none can.
Status NameReorderLibraries(const Graph& graph, const Machine& machine, Plan& plan);

}  // namespace pt
