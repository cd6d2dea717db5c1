// The part of CheckPlan about values whose size is known only at run time. They have no place in an arena: each lives
// from the step that makes it to the last that reads it, which happens-before orders like any other. What is left to
// check is that nothing asks of them what only a size could give.
#pragma once

#include "lib/plan/check_rules.h"
#include "partitiontuner/plan/check_plan.h"

namespace pt {

// Faults: "dynamic_form" (not on the host, row-major, in the value's own type), "dynamic_step" (copied, reordered,
// touched by an asynchronous unit), "dynamic_alias" (overwritten in place, or said to be a view or slices).
void CheckRunTimeSizes(const CheckedPlan& checked, std::vector<PlanFault>& faults);

}  // namespace pt
