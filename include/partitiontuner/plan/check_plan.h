// CheckPlan: is this plan legal? Independent of every planner and of PlanMemory; the executor relies on it.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

struct PlanFault {
  std::string id;       // stable: "node_missing", "race", "wait_order", "memory_overlap", …
  std::string message;  // names the steps, nodes and numbers concerned
};

// All faults found, none when legal: every node computed exactly once; every instance written before read by
// happens-before (vector clocks over resource lists and `after`), written once; units of the candidate's class;
// copies over existing links; layouts and storage agree; memory placements inside the arena, aligned to 64
// bytes (slices to their element), not overlapping while both live except where aliasing is declared;
// numbers sane. graph is the planned graph. Near-linear time.
std::vector<PlanFault> CheckPlan(const Graph& graph, const Platform& platform, const Plan& plan);

// Does the plan belong to this graph and machine? Empty when so; else lines naming what differs.
std::vector<std::string> PlanMismatches(const Graph& graph, const Platform& platform, const Plan& plan);

}  // namespace pt
