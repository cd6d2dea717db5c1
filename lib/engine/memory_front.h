// Plans under ever tighter memory caps.
#pragma once

#include "lib/engine/planning_context.h"
#include "partitiontuner/engine/memory_front.h"

namespace pt {

// The front of context.options.planner's plans. Errors: those of its plan without more caps than the options have.
Result<std::vector<Plan>> MakeMemoryFront(const PlanningContext& context);

}  // namespace pt
