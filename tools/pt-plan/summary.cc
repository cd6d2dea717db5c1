#include "tools/pt-plan/summary.h"

#include <cmath>
#include <utility>

#include "tools/common/text.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

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

// How they are called in plans, and what they are.
constexpr std::pair<const char*, const char*> kApart[] = {
    {"in-turns", "(each model alone on the whole machine, one after the other)"},
    {"side-by-side", "(at once, each with its share of the cores)"}};

// " together: 23.4% less than in-turns, 3.1% more than side-by-side"; empty for one model.
std::string TogetherText(const Plan& plan) {
  std::string text;
  for (const auto& [name, what] : kApart) {
    const auto apart = plan.report.baselines_ns.find(name);
    if (apart == plan.report.baselines_ns.end() || apart->second <= 0) continue;
    const double gain = 1 - static_cast<double>(plan.makespan.ns) / static_cast<double>(apart->second);
    text += (text.empty() ? " together: " : ", ") + Percent(std::abs(gain)) + (gain < 0 ? " more" : " less") +
            " than " + name;
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace

Summary Summarise(const Platform& platform, const Plan& plan, const PlanningNotes& notes) {
  Summary summary;
  const BestSingle single = BestSingleOf(plan);
  summary.best_single = single.name;
  summary.best_single_ns = single.ns;
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
  summary.moves = CountMoves(plan);
  for (const Step& step : plan.steps) {
    if (std::holds_alternative<RunGroup>(step.work)) summary.units.insert(platform.unit(step.unit).name);
  }
  return summary;
}

std::string StoppedText(const PlanReport& report) {
  if (report.stopped_by == "interrupted") return "interrupted: the best plan so far";
  return "stopped by " + (report.stopped_by.empty() ? "done" : report.stopped_by);
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
  for (const auto& [name, what] : kApart) {
    const auto apart = plan.report.baselines_ns.find(name);
    if (apart != plan.report.baselines_ns.end()) table.Row({name, ShortTime(apart->second), "", "", what});
  }
  table.Row({"this plan", ShortTime(plan.makespan.ns) + " +-" + Percent(summary.spread),
             summary.best_single.empty() ? "" : Percent(summary.declined ? 0 : -summary.gain), Percent(plan.report.gap),
             summary.unmeasured.time.ns > 0 ? Percent(summary.unmeasured.time.share) + " of it estimated" : ""});
  std::string text = table.Text();
  text += " planner " + plan.planner + ": " + std::to_string(plan.steps.size()) + " steps (" +
          std::to_string(summary.moves.reorders) + " reorders, " + std::to_string(summary.moves.copies) + " copies), " +
          StoppedText(plan.report) + "\n busy:";
  for (const auto& [unit, share] : plan.report.busy) text += " " + unit + " " + Percent(share, 0) + ",";
  text.back() = '\n';
  if (!plan.report.tight_bound.empty()) {
    text += " tight bound: " + plan.report.tight_bound + ", " + ShortTime(plan.lower_bound_ns) + "\n";
  }
  text += SegmentsText(plan.report.segments);
  for (const auto& [device, arena] : plan.memory) {
    text += " memory " + platform.device(device).name + ": " + ShortBytes(arena.bytes) + "\n";
  }
  text += TogetherText(plan);
  if (plan.report.budget) text += BudgetText(plan);
  return summary.best_single.empty() ? text : text + ResultText(summary);
}

Json SummaryJson(const PlanFlags& flags, const Plan& plan, const Summary& summary) {
  Json baselines = Json::MakeObject();
  for (const auto& [name, ns] : plan.report.baselines_ns) baselines.Set(name, ns);
  Json busy = Json::MakeObject();
  for (const auto& [unit, share] : plan.report.busy) busy.Set(unit, share);
  Json json = Json::MakeObject();
  json.Set("model", flags.common.model());
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
  if (plan.report.stopped_by == "interrupted") json.Set("interrupted", true);
  if (!summary.unmeasured.is_none()) json.Set("estimated", ToJson(summary.unmeasured, flags.common));
  json.Set("steps", static_cast<int64_t>(plan.steps.size()));
  json.Set("reorders", static_cast<int64_t>(summary.moves.reorders));
  json.Set("copies", static_cast<int64_t>(summary.moves.copies));
  json.Set("baselines_ns", std::move(baselines));
  json.Set("busy", std::move(busy));
  if (plan.report.segments != SegmentReport()) json.Set("segments", ToJson(plan.report.segments));
  if (plan.report.budget) json.Set("error_budget", ToJson(*plan.report.budget));
  return json;
}

}  // namespace pt::tools
