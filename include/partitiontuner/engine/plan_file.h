// Plans in files, for applications that measure and plan once and run ever after:
//
//   pt::SavePlan("model.ptplan.json", plan, *model->graph);
//
//   auto plan = pt::LoadPlan("model.ptplan.json").value();  // in a later process
//   auto model = engine->Load("model.onnx", pt::OptionsOf(plan).value()).value();
//   auto session = engine->MakeSession(*model, plan).value();
//
// docs/plan-format.md is the format. What a plan does not fit is refused by MakeSession.
#pragma once

#include <string>

#include "partitiontuner/engine/model.h"
#include "partitiontuner/plan/plan.h"

namespace pt {

// `graph` is the planned graph, Model::graph. The file is replaced whole: old or new content, never torn. Errors:
// kInvalidInput, with path and reason.
Status SavePlan(const std::string& path, const Plan& plan, const Graph& graph);

// Errors: kInvalidInput (cannot be read, no plan), kStale (of a later version of the format).
Result<Plan> LoadPlan(const std::string& path);

// How to load the model that the plan was made for, to run by it: the dims of its inputs, the inputs that are constant,
// those that were given though the file has a default for them, precision and rewrites. Nothing can be planned or
// measured on such a model (ModelOptions::to_plan). Errors: kInvalidInput for settings that cannot be read.
Result<ModelOptions> OptionsOf(const Plan& plan);

}  // namespace pt
