// Plans of all planners, run in turns.
#pragma once

#include "lib/engine/planning_scene.h"
#include "partitiontuner/engine/finalists.h"

namespace pt {

// `beside`: the scene's costs, with how steps slow each other down; which plans run is decided by them. Errors: those
// of the planner asked for, of sessions and of runs; other planners that find no plan take no part.
Result<FinalChoice> RunFinalists(const PlanningScene& scene, const CostModel& beside, const FinalistOptions& options);

}  // namespace pt
