// Ways to serve requests that are worth a comparison: plans, and how their runs share the machine.
#pragma once

#include <string>
#include <vector>

#include "lib/engine/planning_context.h"
#include "lib/engine/request_simulation.h"
#include "partitiontuner/engine/request_setting.h"

namespace pt {

struct RequestWay {
  std::string name;  // RateContender::name
  Plan plan;
  RequestSetting setting;
  ServiceModel service;
};

// The plan of the planner asked for and that of each single device, each by all its units in turns; those for several
// cores of the host also by one core a request, every step by the core itself; last the plan for one core of the host,
// on each core of it. Plans that do the same are taken once; what cannot be made is left out unless it is the one asked
// for. Errors: those of MakeModelPlan.
Result<std::vector<RequestWay>> RequestWaysFor(const PlanningContext& context);

// What a run of the plan takes that one core does by itself, in nanoseconds: each wide step by what the same candidate
// takes on one core where that is known, else its time on each of its cores.
Estimate AloneTimeOf(const PlanningContext& context, const Plan& plan);

}  // namespace pt
