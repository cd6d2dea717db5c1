#include "tools/common/prepare.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/plan/plan_precision.h"
#include "tools/common/commands.h"
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

Status CheckCores(const Platform& platform, const CommonFlags& flags) {
  const auto cores = static_cast<uint64_t>(
      std::ranges::count_if(platform.resources, [](const Resource& resource) { return resource.core.has_value(); }));
  if (flags.threads <= cores || cores == 0) return {};
  const bool by_environment =
      std::getenv("PARTITIONTUNER_THREADS") != nullptr && flags.command_line.find("--threads") == std::string::npos;
  return MakeError(ErrorCode::kUsage, "usage.threads",
                   (by_environment ? "PARTITIONTUNER_THREADS=" : "--threads ") + std::to_string(flags.threads) +
                       ", but this process may use " + std::to_string(cores) + (cores == 1 ? " core" : " cores"),
                   "--threads " + std::to_string(cores) + ", or none for all of them");
}

Status CheckKeepsNan(const Plan& plan, const std::string& file, const std::string& plan_command) {
  PT_ASSIGN(const bool keeps, MustKeepNan(plan));
  if (keeps) return {};
  Error error = MakeError(ErrorCode::kUsage, "plan.nan", "the plan was made without --nan keep, and may lose NaN",
                          "make another plan: " + plan_command);
  error.file = file;
  return error;
}

Status CheckDatabase(const CommonFlags& flags) {
  std::error_code problem;
  if (flags.db.empty() || flags.db == "none" || std::filesystem::exists(flags.db, problem)) return {};
  Error error = MakeError(ErrorCode::kInvalidInput, "profile_db.absent", "there is no database " + flags.db,
                          CommandFor("pt-profile", flags) + " makes one; --db none goes without");
  error.file = flags.db;
  return error;
}

Result<std::unique_ptr<Engine>> MakeEngine(const CommonFlags& flags) {
  PT_ASSIGN(const EngineOptions options, EngineOptionsOf(flags));
  PT_ASSIGN(std::unique_ptr<Engine> engine, Engine::Make(options));
  PT_CHECK_OK(CheckCores(engine->machine().platform(), flags));
  PT_CHECK_OK(CheckModes(engine->machine(), flags));
  return engine;
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

void WarnOfModel(const Model& model, const Console& console) {
  for (const std::string& warning : model.load_report.warnings) console.Warn(warning);
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
    if (source.keep_nan) PT_CHECK_OK(CheckKeepsNan(*source.plan, source.plan_file, source.plan_command + " -o FILE"));
    if (source.max_error) PT_CHECK_OK(CheckBudget(*source.plan, *source.max_error, source));
    return ChosenPlan{source.plan_file, *source.plan, {}};
  }
  if (source.wants_budget) {
    return MakeError(ErrorCode::kUsage, "usage.combination",
                     "with --precision auto a plan is made by many runs, which is not done here",
                     source.plan_command + " -o FILE, then --plan FILE");
  }
  PlanOptions options = source.options;
  if (source.planner.starts_with(kDispatchPrefix)) {
    options.planner = source.planner.substr(kDispatchPrefix.size());
    PT_ASSIGN(DispatchPlan dispatch, engine.MakeDispatchPlan(model, options));
    return ChosenPlan{source.planner, std::move(dispatch.plan), std::move(dispatch.table)};
  }
  if (!source.planner.empty()) {
    options.planner = source.planner;
    Result<Plan> plan = engine.MakePlan(model, options);
    if (!plan.ok() && plan.error().code == ErrorCode::kPartial) plan.error().hint = "first: " + source.profile_command;
    if (!plan.ok()) return std::move(plan).error();
    return ChosenPlan{source.planner, *std::move(plan), {}};
  }
  options.planner = "search";
  options.allow_estimates = false;
  const auto profile = engine.ProfileOf(model);
  // It runs even where none is to be used.
  if (!profile.ok() && profile.error().code != ErrorCode::kUsage) return profile.error();
  if (profile.ok() && !profile->measurements.empty()) {
    Result<Plan> plan = engine.MakePlan(model, options);
    if (plan.ok()) return ChosenPlan{options.planner, std::move(*plan), {}};
    console.Note("note: the database does not know all of this model (" + plan.error().message + ")");
  }
  console.Note("note: no profile of this model on this machine: one device, rough estimates (measure it with " +
               source.profile_command + ")");
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
