// pt-plan --baselines: every planner's predicted makespan against the bound.
#include <chrono>

#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/planner/bounds.h"
#include "partitiontuner/planner/planner_names.h"
#include "tools/common/estimates.h"
#include "tools/pt-plan/comparison.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {

Result<int> CompareBaselines(const PlanFlags& flags, Console& console) {
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  PlanOptions options = setup.options;
  options.margin = SplitMargin::kNone;  // what each planner finds is asked for
  if (!flags.profile.empty()) options.profile = &setup.profile;
  const Graph& graph = *setup.model->graph;
  const Platform& platform = setup.engine->machine().platform();
  PT_ASSIGN(const std::unique_ptr<CostModel> costs, setup.engine->CostsOf(*setup.model, options));
  const PlanningProblem problem{graph, platform, setup.model->candidates, *costs, options.constraints};

  Result<PlannerComparison> compared = ComparePlanners(
      PlannerNames(platform, flags.seed), BestBound(problem),
      [&](const std::string& planner, PlanningWatch& watch, double& search_ms) {
        options.planner = planner;
        options.watch = &watch;
        PlanningNotes notes;
        Result<Plan> plan = setup.engine->MakePlan(*setup.model, options, nullptr, &notes);
        search_ms = std::chrono::duration<double, std::milli>(notes.search_time).count();
        return plan;
      },
      console, flags);
  if (!compared.ok() && compared.error().hint.empty() && compared.error().code != ErrorCode::kInterrupted) {
    compared.error().hint = "measure the model first: " + MeasureCommand(flags.common);
  }
  PT_ASSIGN(const PlannerComparison comparison, std::move(compared));
  PT_CHECK_OK(WriteFiles(comparison, graph, platform, flags));
  const int exit_code = ExitCodeForPlans(comparison.interrupted, flags, console);
  if (flags.output == "-") return exit_code;
  PT_CHECK_OK(
      WriteOut(flags.common.json() ? WriteJson(ComparisonJson(comparison)) + "\n" : ComparisonText(comparison)));
  return exit_code;
}

}  // namespace pt::tools
