// RoughCosts: orders of magnitude for a machine that was not profiled, so that a model can run at all. Every answer is
// marked kEstimated with an error of 100 %; nothing is ever compared with measurements.
#pragma once

#include <memory>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

// graph and machine must outlive it. Candidates of devices whose times are known (simulated) get those.
std::unique_ptr<CostModel> MakeRoughCosts(const Graph& graph, const Machine& machine);

}  // namespace pt
