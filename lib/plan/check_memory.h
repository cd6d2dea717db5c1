// The part of CheckPlan about memory. What comes before it holds: ids are in range, candidates fit their nodes, every
// instance is written at most once and read after it is written.
#pragma once

#include <vector>

#include "lib/plan/check_order.h"
#include "lib/plan/check_rules.h"
#include "partitiontuner/plan/check_plan.h"

namespace pt {

// Does every instance and scratch buffer have one place of its size, aligned and within its arena? Gives the places by
// instance, null for those that have none.
std::vector<const Placement*> CheckPlacements(const CheckedPlan& checked, std::vector<PlanFault>& faults);

// Is no byte overwritten while a step may still use what lies there? Only where CheckPlacements found no fault.
void CheckSharing(const CheckedPlan& checked, const std::vector<const Placement*>& placements, const StepOrder& order,
                  std::vector<PlanFault>& faults);

// "instance 3 (value 'x' on cpu)"
std::string InstanceLabel(const CheckedPlan& checked, size_t instance);

}  // namespace pt
