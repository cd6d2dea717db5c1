#include "tools/common/prepare.h"

#include <algorithm>

#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/support/file.h"

namespace pt::tools {
namespace {

Status CheckPrecision(const Plan& plan, const PlanSource& source) {
  PT_ASSIGN(const Precision allowed, PrecisionFromText(source.precision));
  for (const Candidate& candidate : plan.candidates) {
    if (IsWithin(candidate, allowed)) continue;
    const std::string mode(MathModeName(candidate.math));
    Error error = MakeError(ErrorCode::kUsage, "plan.precision",
                            "the plan computes in " + mode + ", but --precision allows " + ToString(allowed),
                            "allow --precision " + mode + ", or make another plan with pt-plan");
    error.file = source.plan_file;
    return error;
  }
  return {};
}

}  // namespace

Result<Plan> LoadPlan(const std::string& path) {
  const Limits limits;
  PT_ASSIGN(const std::string text, ReadFile(path, limits.plan_bytes));
  PT_ASSIGN(const Json json, ParseJson(text, path, limits));
  Result<Plan> plan = PlanFromJson(json, path);
  if (!plan.ok() && plan.error().file.empty()) plan.error().file = path;
  return plan;
}

void NotePrecision(const Model& model, const Console& console) {
  const auto beyond = [](const Candidate& candidate) { return candidate.math != MathMode::kFp32; };
  if (model.precision == Precision() || std::ranges::any_of(model.candidates, beyond)) return;
  console.Note("note: precision " + ToString(model.precision) +
               " is allowed, but no library offers it for this model on this machine: all is computed in fp32");
}

Result<ChosenPlan> ChoosePlan(Engine& engine, const Model& model, const PlanSource& source, const Console& console) {
  if (!source.plan_file.empty()) {
    PT_ASSIGN(Plan plan, LoadPlan(source.plan_file));
    if (!source.precision.empty()) PT_CHECK_OK(CheckPrecision(plan, source));
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
