// pt-plan: searches the plan with the smallest makespan, compares planners, checks and explains
// plans.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "tools/common/commands.h"
#include "tools/common/flag_rules.h"
#include "tools/common/interrupt.h"
#include "tools/common/machine_questions.h"
#include "tools/common/models.h"
#include "tools/common/page_facts.h"
#include "tools/pt-plan/annotate.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {
namespace {

// The first whose flag is given; a plan is made without.
struct Mode {
  const char* flag;
  Result<int> (*run)(const PlanFlags& flags, Console& console);
};
constexpr Mode kModes[] = {{"--diff", DiffPlanFiles},       {"--workload", PlanWorkload},
                           {"--export-group", ExportGroup}, {"--export ort-streams", ExportOrtStreams},
                           {"--check", CheckPlanFile},      {"--baselines", CompareBaselines},
                           {"--pareto", MakeMemoryFront},   {"--rate", MakeRatePlan},
                           {"--explain", ExplainNodes}};

// The models of --check's plan, where the command line names none.
Status TakeModels(PlanFlags& flags) {
  if (flags.check.empty() || !flags.common.models.empty()) return {};
  PT_ASSIGN(const Plan plan, LoadPlan(flags.check));
  return TakeModelsOf(plan, flags.check, flags.common);
}

int Main(int argc, char** argv) {
  Console console("pt-plan");
  PlanFlags flags;
  CLI::App app("Searches the plan with the smallest makespan for an ONNX model.", "pt-plan");
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, flags.common, argc, argv, console)) return *code;
  const auto crash_retry = CrashRetry::Make(flags.crash, argc, argv, console);
  if (!crash_retry.ok()) return console.Fail(crash_retry.error());
  flags.common.kernel_watch = crash_retry->get();
  const auto mode = std::ranges::find_if(kModes, [&](const Mode& row) { return IsGiven(app, row.flag); });
  // What is searched is given as far as it is when a signal comes; all else is simply ended.
  std::optional<InterruptWatch> interrupt;
  const bool searches = mode == std::end(kModes) || mode->run == PlanWorkload || mode->run == CompareBaselines ||
                        mode->run == MakeMemoryFront || mode->run == MakeRatePlan || mode->run == ExplainNodes;
  if (searches) flags.interrupt = &interrupt.emplace();
  if (const auto code = AnswerMachineQuestions(flags.common, console)) return *code;
  if (const Status status = TakeModels(flags); !status.ok()) return console.Fail(status.error());
  if (const Status status = CheckFlags(app, flags); !status.ok()) return console.Fail(status.error());
  if (const Status status = CheckWritable(flags.output); !status.ok()) return console.Fail(status.error());
  if (const Status status = CheckPageFile(flags.html); !status.ok()) return console.Fail(status.error());
  if (const Status status = CheckAnnotate(flags); !status.ok()) return console.Fail(status.error());
  const Result<int> result = mode != std::end(kModes) ? mode->run(flags, console) : MakeAndReport(flags, console);
  if (result.ok()) return *result;
  const int code = console.Fail(result.error());
  return result.error().code == ErrorCode::kInterrupted && interrupt ? interrupt->exit_code() : code;
}

}  // namespace
}  // namespace pt::tools

int main(int argc, char** argv) { return pt::tools::Main(argc, argv); }
