// What pt-plan's command line says.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/engine/critical_splits.h"
#include "tools/common/console.h"
#include "tools/common/crash_retry.h"
#include "tools/common/flags.h"
#include "tools/common/inputs.h"
#include "tools/common/interrupt.h"
#include "tools/common/prepare.h"

namespace pt::tools {

struct PlanFlags {
  CommonFlags common;
  CrashFlags crash;
  std::string profile, planner = "search", output, check, time_limit, margin = "noise", workload, export_to,
                       export_group, html, annotate, rate, p99, duration, arrivals = "poisson";
  std::vector<std::string> explain, place, forbid, lend, memory, calibrate;
  std::vector<std::string> diff;  // none, or two
  uint64_t effort = 0, seed = 1;
  uint32_t finalists = 0;  // 0: the best prediction is taken
  uint32_t refine = 0;
  uint32_t split_critical = 0;  // 0: the graph is planned as it is
  uint32_t queue = 64;          // with --rate: requests that may wait

  bool baselines = false, no_estimates = false, pareto = false, no_confirm = false;

  const InterruptWatch* interrupt = nullptr;  // of what ends early with the best plan so far; outlives every mode

  bool runs_plans() const { return finalists > 0 || refine > 0; }
  bool exports_ort_streams() const { return export_to == "ort-streams"; }
};

void AddFlags(CLI::App& app, PlanFlags& flags);
// Which of them go together. Errors: kUsage.
Status CheckFlags(const CLI::App& app, const PlanFlags& flags);

// A model with all that planning needs.
struct PlanningSetup {
  std::unique_ptr<Engine> engine;
  std::shared_ptr<const Model> model;
  Profile profile;  // of --profile; else empty and not used
  GivenInputs given;
  PlanOptions options;
};
Result<PlanningSetup> MakePlanningSetup(const PlanFlags& flags);

// What is planned by: the options, with the profile of --profile where it is given.
PlanOptions CostOptions(const PlanningSetup& setup, const PlanFlags& flags);
// The error of planning, with the command that measures the model where that is what it lacks.
Error WithMeasureHint(Error error, const PlanFlags& flags);

// Adds --place, --forbid, --lend and --memory. Errors: kUsage for names that are unknown.
Status AddConstraints(const PlanFlags& flags, const Graph& graph, const Platform& platform, Constraints& constraints);

// The plan that the flags ask for, by --planner or within the error budget. explanations and notes may be null; so may
// finals: then --finalists and --refine are not looked at. Errors: those of Engine::MakePlan and of the inputs.
Result<Plan> MakePlanFor(const PlanningSetup& setup, const PlanFlags& flags, Console& console,
                         Explanations* explanations, PlanningNotes* notes, std::optional<FinalChoice>* finals);

// The budget of --precision auto with its data, which a note names. Errors: kUsage, kInvalidInput, kUnsupported (inputs
// that no data can be drawn for).
Result<ErrorBudget> MakeErrorBudget(const PlanningSetup& setup, const PlanFlags& flags, const Console& console);

// Runs --finalists plans on the inputs given. Errors: those of Engine::MakeFinalPlan and of the inputs.
Result<FinalChoice> MakeFinalPlan(const PlanningSetup& setup, const PlanOptions& options, const PlanFlags& flags);
std::string FinalistsText(const FinalChoice& choice);
Json FinalistsJson(const FinalChoice& choice);

// --split-critical: the plan of the graph with those operators in parts that made it faster. Errors: those of
// PlanWithSplits.
Result<SplitPlan> MakeSplitPlan(const PlanningSetup& setup, const PlanFlags& flags, Console& console);
std::string SplitsText(const SplitPlan& splits, bool interrupted);
Json SplitsJson(const SplitPlan& splits);

// Whether a signal has come for what ends early.
inline bool IsInterrupted(const PlanFlags& flags) {
  return flags.interrupt != nullptr && flags.interrupt->token().cancelled();
}

// The modes of pt-plan; each prints its result.
Result<int> MakeAndReport(const PlanFlags& flags, Console& console);
Result<int> CompareBaselines(const PlanFlags& flags, Console& console);
Result<int> MakeMemoryFront(const PlanFlags& flags, Console& console);
Result<int> MakeRatePlan(const PlanFlags& flags, Console& console);
Result<int> CheckPlanFile(const PlanFlags& flags, Console& console);
Result<int> ExplainNodes(const PlanFlags& flags, Console& console);
// Where planning was interrupted: says that the plan is the best so far, and the exit code is that of the signal; else
// 0.
int ExitCodeFor(const Plan& plan, const PlanFlags& flags, const Console& console);
// The same of several plans, whose making was interrupted or not.
int ExitCodeForPlans(bool interrupted, const PlanFlags& flags, const Console& console);
// The plan of --check's file, which fits and is legal (that a library is absent here does not matter), else one that is
// made.
Result<Plan> MakeOrLoadPlan(const PlanningSetup& setup, const PlanFlags& flags, Console& console);
// --export ort-streams, of the same.
Result<int> ExportOrtStreams(const PlanFlags& flags, Console& console);
// --export-group, of the same.
Result<int> ExportGroup(const PlanFlags& flags, Console& console);
Result<int> DiffPlanFiles(const PlanFlags& flags, Console& console);
// --workload, with and without --baselines.
Result<int> PlanWorkload(const PlanFlags& flags, Console& console);

}  // namespace pt::tools
