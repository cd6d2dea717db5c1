// Plans of all planners, run in turns.
#pragma once

#include "lib/engine/planning_scene.h"
#include "partitiontuner/engine/finalists.h"

namespace pt {

// Errors: those of the planner asked for, of sessions and of runs; other planners that find no plan take no part.
Result<FinalChoice> RunFinalists(const PlanningScene& scene, const FinalistOptions& options);

}  // namespace pt
