// What the tools say of plans that stand on estimates, or leave devices out, since nothing was measured.
#pragma once

#include <string>

#include "partitiontuner/engine/estimated_time.h"
#include "tools/common/flags.h"

namespace pt::tools {

// The command that measures the model as these flags have it: "pt-profile model.onnx --shape x=1x3 --db my.db". Ready
// for a shell.
std::string MeasureCommand(const CommonFlags& flags);
// The command that plans from what the steps took in runs of the plan, those that no profile holds among them.
std::string RefineCommand(const CommonFlags& flags);

// What of a plan is not measured.
struct Unmeasured {
  EstimatedTime time;
  std::vector<std::string> left_out;  // names of devices that no plan could use
  bool is_none() const { return time.ns == 0 && left_out.empty(); }
};
// Of a plan that the engine made for the model or that was read for it, by the database or what `options` have instead.
// Where neither holds anything, all of it is estimated.
Unmeasured UnmeasuredOf(Engine& engine, const Model& model, const Plan& plan, const PlanOptions& options);

// "63.0% of the predicted time is estimated: pt-profile m.onnx measures it", and the like; a line for each matter, none
// where all is measured.
std::vector<std::string> UnmeasuredLines(const Unmeasured& unmeasured, const CommonFlags& flags);
// {"ns":..., "share":..., "unsized_ns":..., "unsized_share":..., "unsized_operators":[...], "left_out":[...],
// "measure":"pt-profile ..."}
Json ToJson(const Unmeasured& unmeasured, const CommonFlags& flags);

}  // namespace pt::tools
