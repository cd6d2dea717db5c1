// What one plan gains over another by prediction, and by how much that may be off.
#pragma once

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/plan_options.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// Half the width of the interval in which the time of what costs `estimate` is expected, in ns.
double ErrorNs(const Estimate& estimate);

// Of plans that SimulatePlan has timed: both have their critical paths. What both paths take alike is wrong in both
// alike, so only the times of which one path has more than the other count, each as often as it has more; independent
// errors add up by their squares.
PredictedGain GainOver(const Graph& graph, const Platform& platform, const CostModel& costs, const Plan& plan,
                       const Plan& other);

}  // namespace pt
