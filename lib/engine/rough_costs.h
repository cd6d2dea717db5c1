// RoughCosts: orders of magnitude for a machine that was not profiled, or not to the end, so that a model can run at
// all. Every answer is marked kEstimated with an error of 100 %.
#pragma once

#include <memory>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

// graph and machine must outlive it. Candidates of devices whose times are known (simulated) get those.
std::unique_ptr<CostModel> MakeRoughCosts(const Graph& graph, const Machine& machine);

// As `costs`, and where they have none for a candidate of one node or for a reorder, several times a rough one: what
// was measured comes first, and every node has a way. All three must outlive it.
std::unique_ptr<CostModel> MakeCoveringCosts(const CostModel& costs, const Graph& graph, const Machine& machine);

}  // namespace pt
