// What costs say of a plan that is complete except for its times.
#pragma once

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/plan/plan.h"
#include "partitiontuner/planner/bounds.h"

namespace pt {

// Whether no step's time is an estimate.
bool AllMeasured(const Graph& graph, const Platform& platform, const Plan& plan, const CostModel& costs);

// Times, critical path, gap and shares of a plan under these costs, in place of those it has, and whether they are all
// measured. Errors: kPartial.
Status PredictPlan(const Graph& graph, const Platform& platform, const CostModel& costs, Plan& plan);

// The bound, and how far the plan's makespan is above it.
void SetBound(Bound bound, Plan& plan);

}  // namespace pt
