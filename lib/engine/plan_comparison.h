// What a plan is compared with: the plans of single devices, the bound, and other plans.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/model.h"
#include "partitiontuner/engine/plan_options.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/plan/plan.h"
#include "partitiontuner/planner/planner.h"

namespace pt {

// Refers to all of its arguments.
PlanningProblem ProblemOf(const Model& model, const Machine& machine, const CostModel& costs,
                          const PlanOptions& options);

// What each device would take alone: what a plan is worth is said against the best of them. One that cannot run the
// model, or may not under the constraints, has no plan. made: the plan of the device that the problem names, or null.
std::vector<Plan> SingleDevices(PlanningProblem problem, const Plan* made = nullptr);

// What the plan is compared with, by these costs, in place of what it has.
void CompareAnew(const Model& model, const Machine& machine, const CostModel& costs, const PlanOptions& options,
                 Plan& plan);

// What a plan does, whoever made it: the same text for plans that differ in nothing else.
std::string WorkOf(const Plan& plan, const Graph& graph);

}  // namespace pt
