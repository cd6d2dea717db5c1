// pt-plan --split-critical: operators on the critical path in parts, where that makes the plan faster.
#include "tools/common/planning_progress.h"
#include "tools/common/text.h"
#include "tools/pt-plan/plan_flags.h"
#include "tools/report/table.h"

namespace pt::tools {

Result<SplitPlan> MakeSplitPlan(const PlanningSetup& setup, const PlanFlags& flags, Console& console) {
  SplitOptions options;
  options.trials = flags.split_critical;
  if (flags.interrupt != nullptr) options.measure.cancel = &flags.interrupt->token();
  PlanningProgress progress(console, flags.interrupt);
  PlanOptions planning = setup.options;
  planning.watch = &progress.watch();
  return PlanWithSplits(*setup.engine, setup.model, planning, options);
}

std::string SplitsText(const SplitPlan& splits, bool interrupted) {
  if (splits.trials.empty()) return interrupted ? "" : " nothing on the critical path can be split\n";
  TextTable table({"<split", "<along", "before", "after", "<"});
  for (const SplitTrial& trial : splits.trials) {
    table.Row({trial.node, trial.split.axis == SplitAxis::kRows ? "rows" : "channels", ShortTime(trial.before_ns),
               ShortTime(trial.makespan_ns), trial.kept ? "kept" : ""});
  }
  const std::string rewrite = ToString(splits.model->rewrites);
  return table.Text() + (rewrite.empty() ? "" : " --rewrite \"" + rewrite + "\" gives this graph\n");
}

Json SplitsJson(const SplitPlan& splits) {
  Json rows = Json::MakeArray();
  for (const SplitTrial& trial : splits.trials) {
    Rewrites one;
    one.splits = {trial.split};
    Json row = Json::MakeObject();
    row.Set("node", trial.node);
    row.Set("rewrite", ToString(one));
    row.Set("before_ns", trial.before_ns);
    row.Set("makespan_ns", trial.makespan_ns);
    row.Set("kept", trial.kept);
    rows.Push(std::move(row));
  }
  return rows;
}

}  // namespace pt::tools
