// MakeDispatchPlan: what the planners `operator` and `path` leave to the run: the same tasks with all places where they
// may run, for sessions that decide while they run (Session::CreateDispatch). See docs/planners.md, "At run time".
#pragma once

#include <cstdint>
#include <string_view>

#include "partitiontuner/plan/dispatch_plan.h"
#include "partitiontuner/planner/planner.h"

namespace pt {

enum class DispatchRule : uint8_t {
  kOperator,  // a task is one group; of those ready at once the first in the cover goes first
  kPath,      // all between a fork or join and the next, as far as the same classes run it; the longest goes first
};

// "operator", "path"; kUsage lists them.
Result<DispatchRule> DispatchRuleNamed(std::string_view name);

// The groups are those of the best single stream over single cores and asynchronous units: wide units have no part in
// the rules. Every group has its cheapest candidate on each class, those that overwrite an input left out, for nothing
// but the run knows when that is safe. `made_for` and the libraries of reorders are left to the engine.
// Errors: as planners; kUnsupported where a size is not known until run time; kOutOfMemory over a memory cap.
Result<DispatchPlan> MakeDispatchPlan(const PlanningProblem& problem, DispatchRule rule);

}  // namespace pt
