// pt-plan --baselines: every planner's predicted makespan against the bound.
#include <algorithm>
#include <chrono>

#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/planner/bounds.h"
#include "partitiontuner/planner/planner_names.h"
#include "tools/common/text.h"
#include "tools/pt-plan/plan_flags.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {

struct Row {
  std::string planner, not_run;
  int64_t makespan_ns = 0;
  double search_ms = 0;
};

}  // namespace

Result<int> CompareBaselines(const PlanFlags& flags, const Console& console) {
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  PlanOptions options = setup.options;
  options.margin = SplitMargin::kNone;  // what each planner finds is asked for
  if (!flags.profile.empty()) options.profile = &setup.profile;
  const Platform& platform = setup.engine->machine().platform();
  PT_ASSIGN(const std::unique_ptr<CostModel> costs, setup.engine->CostsOf(*setup.model, options));
  const PlanningProblem problem{*setup.model->graph, platform, setup.model->candidates, *costs, options.constraints};
  const Bound bound = BestBound(problem);

  std::vector<Row> rows;
  std::optional<Plan> chosen;
  for (const std::string& name : PlannerNames(platform, flags.seed)) {
    Row row;
    row.planner = name;
    options.planner = name;
    PlanningNotes notes;
    Result<Plan> plan = setup.engine->MakePlan(*setup.model, options, nullptr, &notes);
    if (plan.ok()) {
      row.search_ms = std::chrono::duration<double, std::milli>(notes.search_time).count();
      row.makespan_ns = plan->makespan.ns;
      if (!plan->complete) console.Detail(name + ": some costs are estimates");
      if (name == flags.planner) chosen = std::move(*plan);
    } else if (plan.error().code == ErrorCode::kInternal) {
      return plan.error();
    } else {
      row.not_run = plan.error().message;
    }
    rows.push_back(std::move(row));
  }
  if (std::ranges::all_of(rows, [](const Row& row) { return !row.not_run.empty(); })) {
    return MakeError(ErrorCode::kInfeasible, "plan.none", "no planner found a plan: " + rows.front().not_run,
                     "measure the model first: pt-profile " + flags.common.model);
  }
  const auto gap = [&](const Row& row) {
    return bound.ns > 0 ? static_cast<double>(row.makespan_ns) / static_cast<double>(bound.ns) - 1 : 0;
  };
  if (!flags.output.empty()) {
    if (!chosen)
      return MakeError(ErrorCode::kInfeasible, "plan.none", "planner \"" + flags.planner + "\" made no plan to write");
    PT_CHECK_OK(WriteTo(flags.output, WriteJson(ToJson(*chosen, *setup.model->graph)) + "\n"));
    if (flags.output == "-") return 0;
  }
  if (flags.common.json()) {
    Json planners = Json::MakeArray();
    for (const Row& row : rows) {
      Json json = Json::MakeObject();
      json.Set("planner", row.planner);
      if (row.not_run.empty()) {
        json.Set("makespan_ns", row.makespan_ns);
        json.Set("gap", gap(row));
        json.Set("search_ms", row.search_ms);
      } else {
        json.Set("not_run", row.not_run);
      }
      planners.Push(std::move(json));
    }
    Json json = Json::MakeObject();
    json.Set("bound_ns", bound.ns);
    json.Set("bound", bound.name);
    json.Set("planners", std::move(planners));
    PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
    return 0;
  }
  TextTable table({"planner", "predicted", "over bound", "search", "<note"});
  for (const Row& row : rows) {
    if (row.not_run.empty()) {
      table.Row({row.planner, ShortTime(row.makespan_ns), Percent(gap(row)), Fixed(row.search_ms, 1) + " ms", ""});
    } else {
      table.Row({row.planner, "-", "-", "-", row.not_run});
    }
  }
  table.Row({"bound", ShortTime(bound.ns), "", "", bound.name});
  PT_CHECK_OK(WriteOut(table.Text()));
  return 0;
}

}  // namespace pt::tools
