// Chooses the plan for a rate of requests: predicted in virtual time, confirmed by runs.
#pragma once

#include "lib/engine/planning_context.h"
#include "partitiontuner/engine/rate_plan.h"

namespace pt {

// Errors: kUsage (the goal, or the duration of a confirmation, which may be null).
Status CheckRateGoal(const RateGoal& goal, const RateConfirmation* confirmation);

// Of a goal that was checked. confirmation: null for predictions alone. Those that are predicted to keep up with half
// of the rate or more run, the best predictions first and four at most; of those that meet the goal the one with the
// least 99th percentile is chosen. Where one of them uses a device with a virtual clock, predictions decide. Errors:
// those of RequestWaysFor, of sessions and of runs.
Result<RateChoice> PlanForRate(const PlanningContext& context, const RateGoal& goal,
                               const RateConfirmation* confirmation);

}  // namespace pt
