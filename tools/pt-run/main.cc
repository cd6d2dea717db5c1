// pt-run: runs a model by a plan; measures, verifies, compares.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "partitiontuner/plan/plan_precision.h"
#include "tools/common/flag_rules.h"
#include "tools/common/machine_questions.h"
#include "tools/common/models.h"
#include "tools/common/page_facts.h"
#include "tools/pt-run/run_flags.h"

namespace pt::tools {
namespace {

// As --constant takes them.
std::vector<std::string> ConstantsOf(const MadeFor& made_for) {
  std::vector<std::string> constants;
  for (const auto& [setting, value] : made_for.settings) {
    if (!setting.starts_with(kConstantSetting)) continue;
    constants.push_back(setting.substr(kConstantSetting.size()) + "=" + value);
  }
  return constants;
}

// The graph is rewritten as the plan was made for, inputs are constant and NaN is kept as there, unless the flags say
// how.
Status ReadPlan(RunFlags& flags) {
  if (flags.choice.plan.empty()) return {};
  PT_ASSIGN(Plan plan, LoadPlan(flags.choice.plan));
  const auto rewrite = plan.made_for.settings.find("rewrite");
  if (flags.common.rewrite.empty() && rewrite != plan.made_for.settings.end()) flags.common.rewrite = rewrite->second;
  if (flags.common.constants.empty()) flags.common.constants = ConstantsOf(plan.made_for);
  PT_ASSIGN(const bool keeps_nan, MustKeepNan(plan));
  if (flags.common.nan.empty() && keeps_nan) flags.common.nan = kKeepNan;
  PT_CHECK_OK(TakeModelsOf(plan, flags.choice.plan, flags.common));
  flags.choice.given_plan = std::make_shared<const Plan>(std::move(plan));
  return {};
}

Status ReadLimits(RunFlags& flags) {
  PT_ASSIGN(flags.deadline, DeadlineOf(flags.common));
  PT_ASSIGN(flags.run_bytes, RunBytesOf(flags.common));
  return {};
}

// The first whose flag is given; measuring is what there is without.
struct Mode {
  const char* flag;
  int (*run)(const RunFlags& flags, Console& console, const InterruptWatch& interrupt);
};
constexpr Mode kModes[] = {{"--shape-set", RunShapeSets},    {"--verify", RunVerified}, {"--bisect", RunBisected},
                           {"--concurrency", RunConcurrent}, {"--rate", RunOpenLoop},   {"--find-rate", RunOpenLoop},
                           {"--compare", RunCompared},       {"--aa", RunCompared}};

int Main(int argc, char** argv) {
  Console console("pt-run");
  RunFlags flags;
  CLI::App app("Runs an ONNX model by a plan: measures, verifies, compares.", "pt-run");
  AddFlags(app, flags);
  if (const auto code = ParseFlags(app, flags.common, argc, argv, console)) return *code;
  if (const Status status = CheckFlags(app, flags); !status.ok()) return console.Fail(status.error());
  if (const Status status = CheckPageFile(flags.html); !status.ok()) return console.Fail(status.error());
  const auto length = MeasureLengthOf(flags);
  if (!length.ok()) return console.Fail(length.error());
  if (const Status limits = ReadLimits(flags); !limits.ok()) return console.Fail(limits.error());
  if (flags.suite_worker) return ServeSuite(flags, console);  // its crash is the case's
  const auto crash_retry = CrashRetry::Make(flags.crash, argc, argv, console);
  if (!crash_retry.ok()) return console.Fail(crash_retry.error());
  flags.common.kernel_watch = crash_retry->get();
  const InterruptWatch interrupt;
  flags.cancel = &interrupt.token();
  if (const auto code = AnswerMachineQuestions(flags.common, console)) return *code;
  if (const Status status = CheckDatabase(flags.common); !status.ok()) return console.Fail(status.error());
  if (const Status status = ReadPlan(flags); !status.ok()) return console.Fail(status.error());
  if (!flags.suite.empty()) return RunSuite(flags, argc, argv, console, interrupt);
  const auto mode = std::ranges::find_if(kModes, [&](const Mode& row) { return IsGiven(app, row.flag); });
  return mode != std::end(kModes) ? mode->run(flags, console, interrupt) : RunMeasured(flags, console, interrupt);
}

}  // namespace
}  // namespace pt::tools

int main(int argc, char** argv) { return pt::tools::Main(argc, argv); }
