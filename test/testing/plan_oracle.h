// A slow, simple judge of plans that shares no code with CheckPlan or PlanMemory: closure by bit sets, bytes one by
// one, and what a kernel is by the world's candidates. Which steps the executor leaves out it is told, and judges.
#pragma once

#include <string>

#include "test/testing/planning_world.h"

namespace pt::testing {

// Empty when every read of the plan finds what was written for it in whatever order the lists and waits allow;
// else the first read that may not.
std::string FirstBrokenRead(const World& world, const Plan& plan);

}  // namespace pt::testing
