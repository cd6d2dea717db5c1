// pt-plan MODEL: makes the plan, writes it, and says what it is worth. Also --explain.
#include <algorithm>
#include <set>

#include "partitiontuner/graph/find_nodes.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/plan/step_text.h"
#include "tools/common/estimates.h"
#include "tools/common/planning_progress.h"
#include "tools/common/prepare.h"
#include "tools/common/text.h"
#include "tools/pt-plan/annotate.h"
#include "tools/pt-plan/export.h"
#include "tools/pt-plan/page.h"
#include "tools/pt-plan/plan_flags.h"
#include "tools/pt-plan/summary.h"
#include "tools/report/table.h"

namespace pt::tools {
PlanOptions CostOptions(const PlanningSetup& setup, const PlanFlags& flags) {
  PlanOptions options = setup.options;
  if (!flags.profile.empty()) options.profile = &setup.profile;
  return options;
}

Error WithMeasureHint(Error error, const PlanFlags& flags) {
  const bool infeasible = error.code == ErrorCode::kInfeasible && error.hint.empty();
  if (error.code == ErrorCode::kPartial || infeasible) {
    error.hint = "measure the model first: " + MeasureCommand(flags.common);
  }
  return error;
}

Result<Plan> MakePlanFor(const PlanningSetup& setup, const PlanFlags& flags, Console& console,
                         Explanations* explanations, PlanningNotes* notes, std::optional<FinalChoice>* finals) {
  PlanOptions options = CostOptions(setup, flags);
  std::optional<ErrorBudget> budget;
  if (flags.common.wants_budget()) {
    PT_ASSIGN(budget, MakeErrorBudget(setup, flags, console));
  }
  PlanningProgress progress(console, flags.interrupt);
  options.watch = &progress.watch();
  const auto make = [&]() -> Result<Plan> {
    if (finals != nullptr && flags.runs_plans()) {
      PT_ASSIGN(*finals, MakeFinalPlan(setup, options, flags));
      return (*finals)->finalists[(*finals)->chosen].plan;
    }
    if (budget) return setup.engine->MakePlanWithin(*setup.model, options, *budget);
    return setup.engine->MakePlan(*setup.model, options, explanations, notes);
  };
  Result<Plan> plan = make();
  return plan.ok() ? std::move(plan) : WithMeasureHint(plan.error(), flags);
}

namespace {

std::string StepsTable(const Graph& graph, const Platform& platform, const Plan& plan) {
  TextTable table({"step", "<unit", "start", "time", "<work", "<library", "<waits for"});
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    std::string after;
    for (const StepId id : step.after) after += (after.empty() ? "" : " ") + std::to_string(id.index());
    table.Row({std::to_string(i), platform.unit(step.unit).name, ShortTime(step.expected_start_ns),
               ShortTime(step.expected_ns), WorkLabel(graph, plan, step), LibraryLabel(plan, step), after});
  }
  return table.Text();
}

}  // namespace

int ExitCodeFor(const Plan& plan, const PlanFlags& flags, const Console& console) {
  if (plan.report.stopped_by != "interrupted") return 0;
  console.Note("interrupted: this is the best plan so far");
  return flags.interrupt->exit_code();
}

int ExitCodeForPlans(bool interrupted, const PlanFlags& flags, const Console& console) {
  if (!interrupted) return 0;
  console.Note("interrupted: these are the plans so far");
  return flags.interrupt->exit_code();
}

Result<int> MakeAndReport(const PlanFlags& flags, Console& console) {
  PT_ASSIGN(PlanningSetup setup, MakePlanningSetup(flags));
  WarnOfModel(*setup.model, console);
  NotePrecision(*setup.model, console);
  NoteDevicesLeftOut(*setup.model, setup.engine->machine().platform(), console);
  std::optional<FinalChoice> finals;
  std::optional<SplitPlan> splits;
  PlanningNotes notes;
  Explanations explanations;
  Plan plan;
  if (flags.split_critical > 0) {
    PT_ASSIGN(splits, MakeSplitPlan(setup, flags, console));
    setup.model = splits->model;
    notes = splits->notes;
    plan = std::move(splits->plan);
  } else {
    PT_ASSIGN(plan, MakePlanFor(setup, flags, console, flags.html.empty() ? nullptr : &explanations, &notes, &finals));
  }
  if (!setup.model->models.empty() && !IsInterrupted(flags)) {
    PT_ASSIGN(auto apart, setup.engine->PredictApart(*setup.model, CostOptions(setup, flags)));
    plan.report.baselines_ns.merge(apart);
  }
  const Graph& graph = *setup.model->graph;
  const Platform& platform = setup.engine->machine().platform();
  Summary summary = Summarise(platform, plan, notes);
  summary.unmeasured = UnmeasuredOf(*setup.engine, *setup.model, plan, CostOptions(setup, flags));
  for (const std::string& line : UnmeasuredLines(summary.unmeasured, flags.common)) console.Warn(line);
  if (!flags.output.empty()) PT_CHECK_OK(WriteTo(flags.output, WriteJson(ToJson(plan, graph)) + "\n"));
  const DrawnPlan drawn{plan.planner, &plan};
  PT_CHECK_OK(ExportPlans(flags, graph, platform, std::span(&drawn, 1), plan));
  PT_CHECK_OK(WritePlanPage(flags, setup, plan, summary, explanations));
  PT_CHECK_OK(WriteAnnotated(flags, graph, platform, plan, console));
  std::string text = SummaryText(platform, plan, summary) + (finals ? FinalistsText(*finals) : "") +
                     (splits ? SplitsText(*splits, plan.report.stopped_by == "interrupted") : "");
  if (console.verbosity() > 0) text += StepsTable(graph, platform, plan);
  if (flags.output == "-") {
    console.Note(text.substr(0, text.size() - 1));  // standard output holds the plan
    return ExitCodeFor(plan, flags, console);
  }
  Json json = SummaryJson(flags, plan, summary);
  if (finals) json.Set("finalists", FinalistsJson(*finals));
  if (splits) json.Set("splits", SplitsJson(*splits));
  PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(json) + "\n" : text));
  console.Note(flags.output.empty() ? "note: the plan was not written; -o FILE writes it"
                                    : "plan written to " + flags.output);
  return ExitCodeFor(plan, flags, console);
}

namespace {

// The nodes of --explain. Errors: kUsage.
Result<std::set<NodeId>> NodesMeant(const PlanFlags& flags, const Graph& graph) {
  std::set<NodeId> meant;
  for (const std::string& pattern : flags.explain) {
    const std::vector<NodeId> nodes = FindNodes(graph, pattern);
    if (nodes.empty()) {
      return MakeError(ErrorCode::kUsage, "usage.node", "--explain: no node is called \"" + pattern + "\"",
                       "pt-plan -v lists the nodes with their indices");
    }
    meant.insert(nodes.begin(), nodes.end());
  }
  return meant;
}

}  // namespace

Result<int> ExplainNodes(const PlanFlags& flags, Console& console) {
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  const Graph& graph = *setup.model->graph;
  const Platform& platform = setup.engine->machine().platform();
  PT_ASSIGN(const std::set<NodeId> meant, NodesMeant(flags, graph));
  Explanations explanations;
  PT_ASSIGN(const Plan plan, MakePlanFor(setup, flags, console, &explanations, nullptr, nullptr));
  if (!flags.output.empty()) PT_CHECK_OK(WriteTo(flags.output, WriteJson(ToJson(plan, graph)) + "\n"));
  const int exit_code = ExitCodeFor(plan, flags, console);
  Json rows = Json::MakeArray();
  std::string text;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const auto* run = std::get_if<RunGroup>(&step.work);
    if (run == nullptr) continue;
    for (const NodeId node : plan.candidates[run->candidate.index()].nodes) {
      if (!meant.contains(node)) continue;
      Json lines = Json::MakeArray();
      text += NodeLabel(graph, node) + "\n  step " + std::to_string(i) + " on " + platform.unit(step.unit).name +
              " by " + LibraryLabel(plan, step) + ", " + ShortTime(step.expected_ns) + " from " +
              ShortTime(step.expected_start_ns) + "\n";
      for (const std::string& line : explanations.of(node)) {
        text += "  " + line + "\n";
        lines.Push(line);
      }
      Json row = Json::MakeObject();
      row.Set("node", static_cast<int64_t>(node.index()));
      row.Set("label", NodeLabel(graph, node));
      row.Set("step", static_cast<int64_t>(i));
      row.Set("unit", platform.unit(step.unit).name);
      row.Set("library", LibraryLabel(plan, step));
      row.Set("start_ns", step.expected_start_ns);
      row.Set("ns", step.expected_ns);
      row.Set("reasons", std::move(lines));
      if (exit_code != 0) row.Set("interrupted", true);
      rows.Push(std::move(row));
    }
  }
  if (flags.output == "-") {
    console.Note(text);  // standard output holds the plan
  } else {
    PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(rows) + "\n" : text));
  }
  return exit_code;
}

}  // namespace pt::tools
