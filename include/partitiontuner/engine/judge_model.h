// JudgePlan for models: the answer about the graph (exec/judge_plan.h), and about which files it was joined from.
#pragma once

#include "partitiontuner/engine/model.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

// May this plan run this model here? JudgePlan of its graph, with ModelDifferences among the differences. Thread-safe.
PlanVerdict JudgePlan(const Model& model, const Machine& machine, const Plan& plan);

}  // namespace pt
