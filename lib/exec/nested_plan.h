// The plan of a nested graph: one node after the other on the unit of the step that holds it.
#pragma once

#include "partitiontuner/exec/machine.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// Each node alone, row-major and in fp32, so that nothing has to be reordered: by the first library of the machine that
// offers it so, by the reference library where none else does. keep_nan: by candidates alone that keep NaN, and the
// plan says so (kNanSetting). kUnsupported names the node that no library runs.
Result<Plan> PlanNestedGraph(const Graph& graph, const Machine& machine, UnitId unit, bool keep_nan);

}  // namespace pt
