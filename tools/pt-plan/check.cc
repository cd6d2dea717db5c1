// pt-plan --check: is a plan legal, and does it fit?
#include "partitiontuner/plan/check_plan.h"
#include "tools/common/text.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {

Result<int> CheckPlanFile(const PlanFlags& flags, const Console& console) {
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  PT_ASSIGN(const Plan plan, LoadPlan(flags.check));
  const Graph& graph = *setup.model->graph;
  const Platform& platform = setup.engine->machine().platform();
  // Of a plan for something else every fault would be a consequence, so only the misfit is told.
  const std::vector<std::string> misfits = PlanMismatches(graph, platform, plan);
  const std::vector<PlanFault> faults = misfits.empty() ? CheckPlan(graph, platform, plan) : std::vector<PlanFault>();
  const int code = !misfits.empty()  ? static_cast<int>(ErrorCode::kStale)
                   : !faults.empty() ? static_cast<int>(ErrorCode::kInvalidInput)
                                     : 0;
  if (code == 0 && plan.made_for.model_hash != setup.model->model_hash) {
    console.Warn("the model's weights are not those the plan was made with; the plan stays legal");
  }
  if (flags.common.json()) {
    Json misfit_rows = Json::MakeArray(), fault_rows = Json::MakeArray();
    for (const std::string& line : misfits) misfit_rows.Push(line);
    for (const PlanFault& fault : faults) {
      Json row = Json::MakeObject();
      row.Set("id", fault.id);
      row.Set("message", fault.message);
      fault_rows.Push(std::move(row));
    }
    Json json = Json::MakeObject();
    json.Set("plan", flags.check);
    json.Set("legal", misfits.empty() && faults.empty());
    json.Set("faults", std::move(fault_rows));
    json.Set("differences", std::move(misfit_rows));
    PT_CHECK_OK(WriteOut(WriteJson(json) + "\n"));
    return code;
  }
  std::string text;
  for (const std::string& line : misfits) text += "does not fit: " + line + "\n";
  for (const PlanFault& fault : faults) text += "fault: " + fault.id + ": " + fault.message + "\n";
  if (!misfits.empty())
    text += "the plan does not fit this model or machine; make it again: pt-plan " + flags.common.model + " -o " +
            flags.check + "\n";
  if (!faults.empty()) text += std::to_string(faults.size()) + (faults.size() == 1 ? " fault\n" : " faults\n");
  if (code == 0)
    text += "legal: " + std::to_string(plan.steps.size()) + " steps, predicted " + ShortTime(plan.makespan.ns) + "\n";
  PT_CHECK_OK(WriteOut(text));
  return code;
}

}  // namespace pt::tools
