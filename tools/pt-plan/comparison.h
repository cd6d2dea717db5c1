// What planners make of one problem, side by side.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/planner/bounds.h"
#include "tools/common/console.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {

struct PlannerResult {
  std::string planner;       // with its argument
  std::optional<Plan> plan;  // none: it could not run
  std::string not_run;       // why
  double search_ms = 0;
};

struct PlannerComparison {
  std::vector<PlannerResult> planners;  // in the order of the table
  Bound bound;
  bool interrupted = false;  // by a signal: planners after that made no plan, and the one before it its best so far

  // Makespan over bound, minus one; 0 without a bound.
  double gap(const Plan& plan) const;
  // Null where that planner made none.
  const Plan* plan_of(std::string_view planner) const;
};

// Asks every planner by its name, which is shown as progress, until a signal comes. Errors: kInternal as it comes;
// kInterrupted when the signal came before the first plan; kInfeasible when no planner made one.
using PlanBy = std::function<Result<Plan>(const std::string& planner, PlanningWatch& watch, double& search_ms)>;
Result<PlannerComparison> ComparePlanners(const std::vector<std::string>& planners, Bound bound, const PlanBy& plan_by,
                                          Console& console, const PlanFlags& flags);

// The plan of --planner where -o says, and pictures where --export does. Errors: kInfeasible when a plan is to be
// written and that planner made none, or was not asked.
Status WriteFiles(const PlannerComparison& comparison, const Graph& graph, const Platform& platform,
                  const PlanFlags& flags);

std::string ComparisonText(const PlannerComparison& comparison);
// {"bound_ns", "bound", "planners": [...]}.
Json ComparisonJson(const PlannerComparison& comparison);

}  // namespace pt::tools
