// Timeline: the simulated run of a plan under a cost model.
#pragma once

#include "partitiontuner/plan/plan.h"

namespace pt {

struct Timeline {
  std::vector<int64_t> start_ns, end_ns;  // by step
  int64_t makespan_ns = 0;
  std::vector<StepId> critical_path;  // from a step that starts at 0 to one that ends last
  std::vector<int64_t> busy_ns;       // by unit
};

// Runs each resource's list in order; a step starts when its unit's resources are free and its waits (with
// WaitCost across units) are over. Launches of asynchronous steps occupy their driver core. Concurrent
// steps slow each other as CostModel::Slowdown says. Errors: a step whose cost is unknown (kPartial).
Result<Timeline> SimulatePlan(const Graph& graph, const Platform& platform, const Plan& plan,
                              const CostModel& costs);

// How many bytes the instance takes when dense.
Result<uint64_t> InstanceBytes(const Graph& graph, const Instance& instance);

}  // namespace pt
