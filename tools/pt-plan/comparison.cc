#include "tools/pt-plan/comparison.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "partitiontuner/plan/plan_json.h"
#include "tools/common/planning_progress.h"
#include "tools/common/text.h"
#include "tools/pt-plan/export.h"
#include "tools/report/table.h"

namespace pt::tools {

double PlannerComparison::gap(const Plan& plan) const {
  return bound.ns > 0 ? static_cast<double>(plan.makespan.ns) / static_cast<double>(bound.ns) - 1 : 0;
}

const Plan* PlannerComparison::plan_of(std::string_view planner) const {
  const auto found = std::ranges::find(planners, planner, &PlannerResult::planner);
  return found == planners.end() || !found->plan ? nullptr : &*found->plan;
}

namespace {

// The fastest first; those that made no plan come last, in their order.
void SortBySpan(std::vector<PlannerResult>& rows) {
  std::ranges::stable_sort(rows, {}, [](const PlannerResult& row) {
    return row.plan ? row.plan->makespan.ns : std::numeric_limits<int64_t>::max();
  });
}

}  // namespace

Result<PlannerComparison> ComparePlanners(const std::vector<std::string>& planners, Bound bound, const PlanBy& plan_by,
                                          Console& console, const PlanFlags& flags) {
  PlannerComparison comparison{{}, std::move(bound)};
  std::optional<Error> first;
  for (const std::string& name : planners) {
    PlannerResult& row = comparison.planners.emplace_back(name);
    if (IsInterrupted(flags)) {
      row.not_run = "interrupted before it began";
      continue;
    }
    const std::string what =
        "[" + std::to_string(comparison.planners.size() - 1) + "/" + std::to_string(planners.size()) + "] " + name;
    Result<Plan> plan = [&] {
      PlanningProgress progress(console, flags.interrupt, what);
      return plan_by(name, progress.watch(), row.search_ms);
    }();
    if (plan.ok()) {
      if (!plan->complete) console.Detail(name + ": some costs are estimates");
      row.plan = std::move(*plan);
    } else if (plan.error().code == ErrorCode::kInternal) {
      return plan.error();
    } else {
      row.not_run = plan.error().message;
      if (!first) first = plan.error();
    }
  }
  comparison.interrupted = IsInterrupted(flags);
  if (std::ranges::none_of(comparison.planners, [](const PlannerResult& row) { return row.plan.has_value(); })) {
    if (comparison.interrupted)
      return MakeError(ErrorCode::kInterrupted, "plan.none", "interrupted before any plan was found");
    // Without measurements there is nothing to plan from, which says nothing about plans.
    const ErrorCode code = first && first->code == ErrorCode::kPartial ? first->code : ErrorCode::kInfeasible;
    return MakeError(code, "plan.none", "no planner found a plan: " + comparison.planners.front().not_run);
  }
  SortBySpan(comparison.planners);
  return comparison;
}

Status WriteFiles(const PlannerComparison& comparison, const Graph& graph, const Platform& platform,
                  const PlanFlags& flags) {
  if (flags.output.empty() && flags.export_to.empty()) return {};
  const Plan* chosen = comparison.plan_of(flags.planner);
  if (chosen == nullptr) {
    return MakeError(ErrorCode::kInfeasible, "plan.none", "planner \"" + flags.planner + "\" made no plan to write");
  }
  std::vector<DrawnPlan> drawn;
  for (const PlannerResult& row : comparison.planners) {
    if (row.plan) drawn.push_back({row.planner, &*row.plan});
  }
  PT_CHECK_OK(ExportPlans(flags, graph, platform, drawn, *chosen));
  if (flags.output.empty()) return {};
  return WriteTo(flags.output, WriteJson(ToJson(*chosen, graph)) + "\n");
}

std::string ComparisonText(const PlannerComparison& comparison) {
  TextTable table({"planner", "predicted", "over bound", "search", "<note"});
  for (const PlannerResult& row : comparison.planners) {
    if (row.plan) {
      table.Row({row.planner, ShortTime(row.plan->makespan.ns), Percent(comparison.gap(*row.plan)),
                 Fixed(row.search_ms, 1) + " ms",
                 row.plan->report.stopped_by == "interrupted" ? "interrupted: the best plan so far" : ""});
    } else {
      table.Row({row.planner, "-", "-", "-", row.not_run});
    }
  }
  table.Row({"bound", ShortTime(comparison.bound.ns), "", "", comparison.bound.name});
  return table.Text();
}

Json ComparisonJson(const PlannerComparison& comparison) {
  Json planners = Json::MakeArray();
  for (const PlannerResult& row : comparison.planners) {
    Json json = Json::MakeObject();
    json.Set("planner", row.planner);
    if (row.plan) {
      json.Set("makespan_ns", row.plan->makespan.ns);
      json.Set("gap", comparison.gap(*row.plan));
      json.Set("search_ms", row.search_ms);
      if (row.plan->report.stopped_by == "interrupted") json.Set("interrupted", true);
    } else {
      json.Set("not_run", row.not_run);
    }
    planners.Push(std::move(json));
  }
  Json json = Json::MakeObject();
  json.Set("bound_ns", comparison.bound.ns);
  json.Set("bound", comparison.bound.name);
  json.Set("planners", std::move(planners));
  if (comparison.interrupted) json.Set("interrupted", true);
  return json;
}

}  // namespace pt::tools
