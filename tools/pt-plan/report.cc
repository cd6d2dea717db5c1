// pt-plan MODEL: makes the plan, writes it, and says what it is worth. Also --explain.
#include <algorithm>
#include <set>

#include "partitiontuner/graph/find_nodes.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/plan/step_text.h"
#include "tools/common/estimates.h"
#include "tools/common/prepare.h"
#include "tools/common/text.h"
#include "tools/pt-plan/export.h"
#include "tools/pt-plan/plan_flags.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

// With the profile that costs come from, where it is given.
PlanOptions CostOptions(const PlanningSetup& setup, const PlanFlags& flags) {
  PlanOptions options = setup.options;
  if (!flags.profile.empty()) options.profile = &setup.profile;
  return options;
}

}  // namespace

Result<Plan> MakePlanFor(const PlanningSetup& setup, const PlanFlags& flags, const Console& console,
                         Explanations* explanations, PlanningNotes* notes, std::optional<FinalChoice>* finals) {
  const PlanOptions options = CostOptions(setup, flags);
  const auto make = [&]() -> Result<Plan> {
    if (finals != nullptr && flags.runs_plans()) {
      PT_ASSIGN(*finals, MakeFinalPlan(setup, options, flags));
      return (*finals)->finalists[(*finals)->chosen].plan;
    }
    if (!flags.common.wants_budget()) return setup.engine->MakePlan(*setup.model, options, explanations, notes);
    PT_ASSIGN(const ErrorBudget budget, MakeErrorBudget(setup, flags, console));
    return setup.engine->MakePlanWithin(*setup.model, options, budget);
  };
  Result<Plan> plan = make();
  const bool unmeasured = !plan.ok() && plan.error().code == ErrorCode::kPartial;
  if (unmeasured || (!plan.ok() && plan.error().hint.empty() && plan.error().code == ErrorCode::kInfeasible)) {
    plan.error().hint = "measure the model first: " + MeasureCommand(flags.common);
  }
  return plan;
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

struct Summary {
  int64_t best_single_ns = 0;
  std::string best_single;
  double spread = 0;           // of the makespan, as a share of it
  double gain = 0, noise = 0;  // over the best single device, and how far that may be off
  bool declined = false;       // the gain is of a plan that this one stands in for
  Unmeasured unmeasured;
  size_t copies = 0, reorders = 0;
  std::set<std::string> units;
};

Summary Summarise(const Platform& platform, const Plan& plan, const PlanningNotes& notes) {
  Summary summary;
  for (const auto& [name, ns] : plan.report.baselines_ns) {
    if (!name.starts_with("single:") || (!summary.best_single.empty() && ns >= summary.best_single_ns)) continue;
    summary.best_single = name;
    summary.best_single_ns = ns;
  }
  if (summary.best_single_ns > 0) {
    summary.gain = 1 - static_cast<double>(plan.makespan.ns) / static_cast<double>(summary.best_single_ns);
  }
  if (plan.makespan.ns > 0)
    summary.spread = static_cast<double>(plan.makespan.spread_ns) / static_cast<double>(plan.makespan.ns);
  summary.noise = summary.spread;
  if (notes.gain) {
    summary.gain = notes.gain->share;
    summary.noise = notes.gain->uncertainty;
    summary.declined = notes.split_declined;
  }
  for (const Step& step : plan.steps) {
    summary.copies += std::holds_alternative<Copy>(step.work);
    summary.reorders += std::holds_alternative<Reorder>(step.work);
    if (std::holds_alternative<RunGroup>(step.work)) summary.units.insert(platform.unit(step.unit).name);
  }
  return summary;
}

// "error budget 0.01: 40 of 53 groups in lower precision, error 0.0071, on other data 0.0077; predicted 1.62 x as fast
// as fp32's 16.8 ms (42 plans tried)".
std::string BudgetText(const Plan& plan) {
  const BudgetReport& budget = *plan.report.budget;
  const std::string tried =
      " (" + std::to_string(budget.plans) + (budget.plans == 1 ? " plan" : " plans") + " tried)\n";
  const std::string text = " error budget " + Brief(budget.max_error) + ": ";
  if (budget.lowered_groups == 0) return text + "all in fp32" + tried;
  const double gain = static_cast<double>(budget.fp32_ns) / static_cast<double>(plan.makespan.ns);
  return text + std::to_string(budget.lowered_groups) + " of " + std::to_string(budget.groups) +
         " groups in lower precision, error " + Brief(budget.calibration_error) + ", on other data " +
         Brief(budget.confirmation_error) + "; predicted " + Fixed(gain, 2) + " x as fast as fp32's " +
         ShortTime(budget.fp32_ns) + tried;
}

// Steps that are launched as one, and devices where they count one by one since the profile is too old to know better.
std::string SegmentsText(const SegmentReport& report) {
  std::string text;
  if (report.segments > 0) {
    text += " segments: " + std::to_string(report.segments) + " of " + std::to_string(report.steps) +
            " steps together, launched in " + ShortTime(report.launch_ns) + "\n";
  }
  for (const std::string& device : report.unknown) {
    text += " " + device + " launches recorded steps as one, but what that takes was not measured: each counts as " +
            "launched by itself. Run pt-profile on this model again.\n";
  }
  return text;
}

// What the plan is worth, and no more of it than was measured.
std::string ResultText(const Summary& summary) {
  const Unmeasured& unmeasured = summary.unmeasured;
  const std::string estimated =
      unmeasured.time.ns > 0 ? " (" + Percent(unmeasured.time.share) + " of the prediction is estimated)" : "";
  if (!unmeasured.left_out.empty()) {
    std::string devices;
    for (const std::string& name : unmeasured.left_out) devices += (devices.empty() ? "" : ", ") + name;
    return "result: none. Nothing was measured on " + devices + ", so no plan with it was looked at.\n";
  }
  if (summary.gain > summary.noise) {
    return "result: " + Percent(summary.gain) + " faster than " + summary.best_single + ", on " +
           std::to_string(summary.units.size()) + (summary.units.size() == 1 ? " unit" : " units") + estimated + ".\n";
  }
  if (summary.gain <= 0) {
    return "result: no useful split. No plan was found that is predicted to be faster than " + summary.best_single +
           estimated + ".\n";
  }
  return "result: no useful split. The best plan found gains " + Percent(summary.gain) + " over " +
         summary.best_single + ", within the noise of " + Percent(summary.noise) + estimated +
         (summary.declined ? "; this is the plan of " + summary.best_single + ".\n" : ".\n");
}

std::string SummaryText(const Platform& platform, const Plan& plan, const Summary& summary) {
  TextTable table({"plan", "predicted", "vs best single", "over bound", "<"});
  for (const auto& [name, ns] : plan.report.baselines_ns) {
    if (!name.starts_with("single:")) continue;
    table.Row({name, ShortTime(ns), "", "", name == summary.best_single ? "(best single)" : ""});
  }
  table.Row({"this plan", ShortTime(plan.makespan.ns) + " +-" + Percent(summary.spread),
             summary.best_single.empty() ? "" : Percent(summary.declined ? 0 : -summary.gain), Percent(plan.report.gap),
             summary.unmeasured.time.ns > 0 ? Percent(summary.unmeasured.time.share) + " of it estimated" : ""});
  std::string text = table.Text();
  text += " planner " + plan.planner + ": " + std::to_string(plan.steps.size()) + " steps (" +
          std::to_string(summary.reorders) + " reorders, " + std::to_string(summary.copies) + " copies), stopped by " +
          (plan.report.stopped_by.empty() ? "done" : plan.report.stopped_by) + "\n busy:";
  for (const auto& [unit, share] : plan.report.busy) text += " " + unit + " " + Percent(share, 0) + ",";
  text.back() = '\n';
  if (!plan.report.tight_bound.empty()) {
    text += " tight bound: " + plan.report.tight_bound + ", " + ShortTime(plan.lower_bound_ns) + "\n";
  }
  text += SegmentsText(plan.report.segments);
  for (const auto& [device, arena] : plan.memory) {
    text += " memory " + platform.device(device).name + ": " + ShortBytes(arena.bytes) + "\n";
  }
  if (plan.report.budget) text += BudgetText(plan);
  return summary.best_single.empty() ? text : text + ResultText(summary);
}

Json SummaryJson(const PlanFlags& flags, const Plan& plan, const Summary& summary) {
  Json baselines = Json::MakeObject();
  for (const auto& [name, ns] : plan.report.baselines_ns) baselines.Set(name, ns);
  Json busy = Json::MakeObject();
  for (const auto& [unit, share] : plan.report.busy) busy.Set(unit, share);
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model);
  json.Set("planner", plan.planner);
  json.Set("makespan_ns", plan.makespan.ns);
  json.Set("spread_ns", plan.makespan.spread_ns);
  json.Set("bound_ns", plan.lower_bound_ns);
  json.Set("tight_bound", plan.report.tight_bound);
  json.Set("gap", plan.report.gap);
  json.Set("best_single", summary.best_single);
  json.Set("gain", summary.gain);
  json.Set("gain_uncertainty", summary.noise);
  json.Set("useful_split", !summary.best_single.empty() && summary.gain > summary.noise);
  json.Set("complete", plan.complete);
  if (!summary.unmeasured.is_none()) json.Set("estimated", ToJson(summary.unmeasured, flags.common));
  json.Set("steps", static_cast<int64_t>(plan.steps.size()));
  json.Set("reorders", static_cast<int64_t>(summary.reorders));
  json.Set("copies", static_cast<int64_t>(summary.copies));
  json.Set("baselines_ns", std::move(baselines));
  json.Set("busy", std::move(busy));
  if (plan.report.segments != SegmentReport()) json.Set("segments", ToJson(plan.report.segments));
  if (plan.report.budget) json.Set("error_budget", ToJson(*plan.report.budget));
  return json;
}

}  // namespace

Result<int> MakeAndReport(const PlanFlags& flags, const CancelToken* cancel, const Console& console) {
  PT_ASSIGN(PlanningSetup setup, MakePlanningSetup(flags));
  WarnOfModel(*setup.model, console);
  NotePrecision(*setup.model, console);
  NoteDevicesLeftOut(*setup.model, setup.engine->machine().platform(), console);
  std::optional<FinalChoice> finals;
  std::optional<SplitPlan> splits;
  PlanningNotes notes;
  Plan plan;
  if (flags.split_critical > 0) {
    PT_ASSIGN(splits, MakeSplitPlan(setup, flags, cancel));
    setup.model = splits->model;
    notes = splits->notes;
    plan = std::move(splits->plan);
  } else {
    PT_ASSIGN(plan, MakePlanFor(setup, flags, console, nullptr, &notes, &finals));
  }
  const Graph& graph = *setup.model->graph;
  const Platform& platform = setup.engine->machine().platform();
  Summary summary = Summarise(platform, plan, notes);
  summary.unmeasured = UnmeasuredOf(*setup.engine, *setup.model, plan, CostOptions(setup, flags));
  for (const std::string& line : UnmeasuredLines(summary.unmeasured, flags.common)) console.Warn(line);
  if (!flags.output.empty()) PT_CHECK_OK(WriteTo(flags.output, WriteJson(ToJson(plan, graph)) + "\n"));
  const DrawnPlan drawn{plan.planner, &plan};
  PT_CHECK_OK(ExportPlans(flags, graph, platform, std::span(&drawn, 1), plan));
  std::string text = SummaryText(platform, plan, summary) + (finals ? FinalistsText(*finals) : "") +
                     (splits ? SplitsText(*splits) : "");
  if (console.verbosity() > 0) text += StepsTable(graph, platform, plan);
  if (flags.output == "-") {
    console.Note(text.substr(0, text.size() - 1));  // standard output holds the plan
    return 0;
  }
  Json json = SummaryJson(flags, plan, summary);
  if (finals) json.Set("finalists", FinalistsJson(*finals));
  if (splits) json.Set("splits", SplitsJson(*splits));
  PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(json) + "\n" : text));
  console.Note(flags.output.empty() ? "note: the plan was not written; -o FILE writes it"
                                    : "plan written to " + flags.output);
  return 0;
}

Result<int> ExplainNodes(const PlanFlags& flags, const Console& console) {
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  const Graph& graph = *setup.model->graph;
  const Platform& platform = setup.engine->machine().platform();
  std::set<NodeId> meant;
  for (const std::string& pattern : flags.explain) {
    const std::vector<NodeId> nodes = FindNodes(graph, pattern);
    if (nodes.empty()) {
      return MakeError(ErrorCode::kUsage, "usage.node", "--explain: no node is called \"" + pattern + "\"",
                       "pt-plan -v lists the nodes with their indices");
    }
    meant.insert(nodes.begin(), nodes.end());
  }
  Explanations explanations;
  PT_ASSIGN(const Plan plan, MakePlanFor(setup, flags, console, &explanations, nullptr, nullptr));
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
      rows.Push(std::move(row));
    }
  }
  PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(rows) + "\n" : text));
  return 0;
}

}  // namespace pt::tools
