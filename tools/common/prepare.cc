#include "tools/common/prepare.h"

#include <algorithm>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/plan/plan_precision.h"
#include "partitiontuner/support/file.h"
#include "tools/common/text.h"

namespace pt::tools {
namespace {

Status CheckPrecision(const Plan& plan, const Precision& allowed, const PlanSource& source) {
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

// A plan in fp32 alone keeps every budget.
Status CheckBudget(const Plan& plan, double max_error, const PlanSource& source) {
  const std::optional<BudgetReport>& budget = plan.report.budget;
  if (LoosestMath(plan) == MathMode::kFp32 || (budget && budget->confirmation_error <= max_error)) return {};
  Error error = MakeError(
      ErrorCode::kUsage, "plan.max_error",
      budget
          ? "the plan's error is " + Brief(budget->confirmation_error) + ", but --max-error allows " + Brief(max_error)
          : "the plan computes in " + std::string(MathModeName(LoosestMath(plan))) + ", and its error was not measured",
      "make another plan: pt-plan --precision auto --max-error " + Brief(max_error));
  error.file = source.plan_file;
  return error;
}

// What was named must be there; auto names nothing.
Status CheckModes(const Machine& machine, const CommonFlags& flags) {
  PT_ASSIGN(const Precision named, AllowedPrecision(flags));
  if (flags.wants_budget()) return {};
  const Precision there = ModesOf(machine.platform(), machine.libraries());
  for (MathMode mode : kMathModes) {
    if (!named.allows(mode) || there.allows(mode)) continue;
    const std::string name(MathModeName(mode));
    return MakeError(ErrorCode::kDeviceUnusable, "precision.absent",
                     "no library computes in " + name + " on this machine: its devices lack the instructions, or the " +
                         "libraries that have it are not used",
                     "--precision fp32, or auto for whatever is there");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Engine>> MakeEngine(const CommonFlags& flags) {
  PT_ASSIGN(const EngineOptions options, EngineOptionsOf(flags));
  PT_ASSIGN(std::unique_ptr<Engine> engine, Engine::Make(options));
  PT_CHECK_OK(CheckModes(engine->machine(), flags));
  return engine;
}

Result<Plan> LoadPlan(const std::string& path) {
  const Limits limits;
  PT_ASSIGN(const std::string text, ReadFile(path, limits.plan_bytes));
  PT_ASSIGN(const Json json, ParseJson(text, path, limits));
  Result<Plan> plan = PlanFromJson(json, path);
  if (!plan.ok() && plan.error().file.empty()) plan.error().file = path;
  return plan;
}

void NoteDevicesLeftOut(const Model& model, const Platform& platform, const Console& console) {
  for (const Device& device : platform.devices) {
    const MathMode math = MathOf(device);
    if (model.precision.allows(math)) continue;
    const std::string name(MathModeName(math));
    console.Note("note: " + device.name + " computes in " + name + " alone and is left out: --precision " + name +
                 " allows it");
  }
}

void NotePrecision(const Model& model, const Console& console) {
  const auto beyond = [](const Candidate& candidate) { return candidate.math != MathMode::kFp32; };
  if (model.precision == Precision() || std::ranges::any_of(model.candidates, beyond)) return;
  console.Note("note: precision " + ToString(model.precision) +
               " is allowed, but no library offers it for this model on this machine: all is computed in fp32");
}

Result<ChosenPlan> ChoosePlan(Engine& engine, const Model& model, const PlanSource& source, const Console& console) {
  if (!source.plan_file.empty()) {
    if (source.precision) PT_CHECK_OK(CheckPrecision(*source.plan, *source.precision, source));
    if (source.max_error) PT_CHECK_OK(CheckBudget(*source.plan, *source.max_error, source));
    return ChosenPlan{source.plan_file, *source.plan, {}};
  }
  if (source.wants_budget) {
    return MakeError(ErrorCode::kUsage, "usage.combination",
                     "with --precision auto a plan is made by many runs, which is not done here",
                     "pt-plan " + model.path + " --precision auto -o FILE, then --plan FILE");
  }
  PlanOptions options = source.options;
  if (source.planner.starts_with(kDispatchPrefix)) {
    options.planner = source.planner.substr(kDispatchPrefix.size());
    PT_ASSIGN(DispatchPlan dispatch, engine.MakeDispatchPlan(model, options));
    return ChosenPlan{source.planner, std::move(dispatch.plan), std::move(dispatch.table)};
  }
  if (!source.planner.empty()) {
    options.planner = source.planner;
    PT_ASSIGN(Plan plan, engine.MakePlan(model, options));
    return ChosenPlan{source.planner, std::move(plan), {}};
  }
  options.planner = "search";
  options.allow_estimates = false;
  const auto profile = engine.ProfileOf(model);
  if (profile.ok() && !profile->measurements.empty()) {
    Result<Plan> plan = engine.MakePlan(model, options);
    if (plan.ok()) return ChosenPlan{options.planner, std::move(*plan), {}};
    console.Note("note: the database does not know all of this model (" + plan.error().message + ")");
  }
  console.Note(
      "note: no profile of this model on this machine: one device, rough estimates (measure it "
      "with pt-profile)");
  PT_ASSIGN(Plan plan, engine.MakeDefaultPlan(model));
  const std::string name = plan.planner;
  return ChosenPlan{name, std::move(plan), {}};
}

Result<std::unique_ptr<Session>> MakeSession(Engine& engine, const Model& model, const ChosenPlan& chosen,
                                             const SessionOptions& options) {
  if (!chosen.dispatch) return engine.MakeSession(model, chosen.plan, options);
  return engine.MakeSession(model, DispatchPlan{chosen.plan, *chosen.dispatch}, options);
}

}  // namespace pt::tools
