#include "tools/common/prepare.h"

#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/support/file.h"

namespace pt::tools {

Result<Plan> LoadPlan(const std::string& path) {
  const Limits limits;
  PT_ASSIGN(const std::string text, ReadFile(path, limits.plan_bytes));
  PT_ASSIGN(const Json json, ParseJson(text, path, limits));
  Result<Plan> plan = PlanFromJson(json, path);
  if (!plan.ok() && plan.error().file.empty()) plan.error().file = path;
  return plan;
}

Result<ChosenPlan> ChoosePlan(Engine& engine, const Model& model, const PlanSource& source, const Console& console) {
  if (!source.plan_file.empty()) {
    PT_ASSIGN(Plan plan, LoadPlan(source.plan_file));
    return ChosenPlan{source.plan_file, std::move(plan)};
  }
  PlanOptions options = source.options;
  if (!source.planner.empty()) {
    options.planner = source.planner;
    PT_ASSIGN(Plan plan, engine.MakePlan(model, options));
    return ChosenPlan{source.planner, std::move(plan)};
  }
  options.planner = "search";
  options.allow_estimates = false;
  const auto profile = engine.ProfileOf(model);
  if (profile.ok() && !profile->measurements.empty()) {
    Result<Plan> plan = engine.MakePlan(model, options);
    if (plan.ok()) return ChosenPlan{options.planner, std::move(*plan)};
    console.Note("note: the database does not know all of this model (" + plan.error().message + ")");
  }
  console.Note(
      "note: no profile of this model on this machine: one device, rough estimates (measure it "
      "with pt-profile)");
  PT_ASSIGN(Plan plan, engine.MakeDefaultPlan(model));
  const std::string name = plan.planner;
  return ChosenPlan{name, std::move(plan)};
}

}  // namespace pt::tools
