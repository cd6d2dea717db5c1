// How much of a plan's predicted time was not measured, and what a plan leaves out because it was not.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/model.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

struct EstimatedTime {
  // Part of the makespan: the steps on the critical path whose time is an estimate, all together.
  int64_t ns = 0;
  // Those of them that no profile can hold: sizes are not known until run time, or they run nested graphs.
  int64_t unsized_ns = 0;
  double share = 0, unsized_share = 0;         // of the makespan
  std::vector<std::string> unsized_operators;  // of the unsized steps, each once, those that take most first

  friend bool operator==(const EstimatedTime&, const EstimatedTime&) = default;
};

// For a plan with the times and the critical path that the engine has given it. costs: what it was made by; null where
// nothing was measured at all.
EstimatedTime EstimatedTimeOf(const Graph& graph, const Platform& platform, const Plan& plan, const CostModel* costs);

// Devices that something could run on, but nothing of this model has a cost there: no plan can use them.
std::vector<DeviceId> UnmeasuredDevices(const Model& model, const Platform& platform, const CostModel& costs);

}  // namespace pt
