#include "lib/engine/predict_plan.h"

#include <algorithm>
#include <utility>

#include "lib/engine/step_cost.h"
#include "partitiontuner/plan/timeline.h"

namespace pt {
namespace {

void SetGap(Plan& plan) {
  plan.report.gap = 0;
  if (plan.lower_bound_ns <= 0) return;
  plan.report.gap = static_cast<double>(plan.makespan.ns) / static_cast<double>(plan.lower_bound_ns) - 1;
}

}  // namespace

bool AllMeasured(const Graph& graph, const Platform& platform, const Plan& plan, const CostModel& costs) {
  return std::ranges::all_of(plan.steps, [&](const Step& step) {
    const std::optional<Estimate> cost = CostOfStep(graph, platform, plan, step, costs);
    return cost && cost->provenance != Provenance::kEstimated;
  });
}

Status PredictPlan(const Graph& graph, const Platform& platform, const CostModel& costs, Plan& plan) {
  PT_ASSIGN(const Timeline timeline, SimulatePlan(graph, platform, plan, costs));
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    plan.steps[s].expected_start_ns = timeline.start_ns[s];
    plan.steps[s].expected_ns = timeline.end_ns[s] - timeline.start_ns[s];
  }
  plan.makespan.ns = timeline.makespan_ns;
  plan.complete = AllMeasured(graph, platform, plan, costs);
  plan.report.critical_path = timeline.critical_path;
  plan.report.busy.clear();
  for (size_t u = 0; u < platform.units.size() && timeline.makespan_ns > 0; ++u) {
    plan.report.busy[platform.units[u].name] =
        static_cast<double>(timeline.busy_ns[u]) / static_cast<double>(timeline.makespan_ns);
  }
  SetGap(plan);
  return {};
}

void SetBound(Bound bound, Plan& plan) {
  plan.lower_bound_ns = bound.ns;
  if (bound.ns > 0) plan.report.tight_bound = std::move(bound.name);
  SetGap(plan);
}

}  // namespace pt
