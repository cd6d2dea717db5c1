// What models that are joined would take without a plan for all of them: Engine::PredictApart.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/model.h"
#include "partitiontuner/engine/plan_options.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

// By costs of the joined models.
Result<std::map<std::string, int64_t>> PredictModelsApart(const Model& model, const Machine& machine,
                                                          const CostModel& costs, const PlanOptions& options);

}  // namespace pt
