// What a cost model says of a step of a plan.
#pragma once

#include <optional>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// Of the work alone. Empty where it is not known.
std::optional<Estimate> CostOfStep(const Graph& graph, const Platform& platform, const Plan& plan, const Step& step,
                                   const CostModel& costs);

}  // namespace pt
