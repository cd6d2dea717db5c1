// pt-plan --finalists and --refine: plans that run before one of them is kept.
#include <algorithm>

#include "tools/common/text.h"
#include "tools/pt-plan/plan_flags.h"
#include "tools/report/table.h"

namespace pt::tools {

Result<FinalChoice> MakeFinalPlan(const PlanningSetup& setup, const PlanOptions& options, const PlanFlags& flags) {
  FinalistOptions finalists;
  finalists.most = std::max(1U, flags.finalists);
  finalists.refine = flags.refine;
  PT_ASSIGN(finalists.inputs, MakeInputs(*setup.model, setup.given, flags.seed));
  return setup.engine->MakeFinalPlan(*setup.model, options, finalists);
}

std::string FinalistsText(const FinalChoice& choice) {
  TextTable table({"finalist", "predicted", "beside others", "measured", "speedup", "noise", "<"});
  for (size_t i = 0; i < choice.finalists.size(); ++i) {
    const Finalist& finalist = choice.finalists[i];
    table.Row({finalist.planner, ShortTime(finalist.plan.makespan.ns), ShortTime(finalist.beside_ns),
               ShortTime(finalist.measured_ns), Fixed(finalist.speedup, 3) + " x",
               i == 0 ? "" : Percent(finalist.noise), i == choice.chosen ? "kept" : ""});
  }
  return table.Text();
}

Json FinalistsJson(const FinalChoice& choice) {
  Json rows = Json::MakeArray();
  for (size_t i = 0; i < choice.finalists.size(); ++i) {
    const Finalist& finalist = choice.finalists[i];
    Json row = Json::MakeObject();
    row.Set("planner", finalist.planner);
    row.Set("predicted_ns", finalist.plan.makespan.ns);
    row.Set("beside_ns", finalist.beside_ns);
    row.Set("measured_ns", finalist.measured_ns);
    row.Set("speedup", finalist.speedup);
    row.Set("noise", finalist.noise);
    row.Set("kept", i == choice.chosen);
    rows.Push(std::move(row));
  }
  return rows;
}

}  // namespace pt::tools
