// Lower bounds on the makespan of any legal plan, from contention-free costs and the cheapest cover.
#pragma once

#include "partitiontuner/planner/planner.h"

namespace pt {

// A time below which no plan can go.
struct Bound {
  std::string name;  // "L1 critical path", …
  int64_t ns = 0;
};
// L1 critical path, L2 with cheapest communication, L3 area, L4 area with transfers, L5 series
// cuts, L6 the same without side nodes, L7 paths and work together, L8 the same with the heaviest choices decided; see
// docs/planners.md. Each valid.
std::vector<Bound> LowerBounds(const PlanningProblem& problem);
Bound BestBound(const PlanningProblem& problem);

}  // namespace pt
