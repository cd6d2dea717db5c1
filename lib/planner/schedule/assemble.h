// Assemble: from decisions to a complete legal plan. The one way planners make plans.
#pragma once

#include <span>
#include <string>

#include "lib/planner/schedule/schedule.h"

namespace pt {

// Steps in the solution's order with the copies and reorders they need, waits without what others imply, memory,
// expected times, critical path. Errors: kInfeasible (the order is not a linear extension, a value cannot be moved,
// nodes that must share a device do not), kOutOfMemory (over a memory cap, or more resident bytes than a device has).
// Explains every node when `explanations` is not null. `barriers`: see Solved.
Result<Plan> Assemble(const Space& space, const Solution& solution, std::string planner,
                      Explanations* explanations = nullptr, std::span<const uint32_t> barriers = {});

// The steps alone, of a solution that `schedule` has just found possible: no memory, no times.
Plan StepsOf(const Space& space, const Solution& solution, const Scheduler& schedule);

// Why each step is where it is: alternatives with their times, slack, what it waited for.
void ExplainPlan(const Space& space, const Plan& plan, const Timeline& timeline, Explanations& explanations);

// "name" or "name:argument".
std::string PlannerName(std::string_view name, const PlanningProblem& problem);

}  // namespace pt
