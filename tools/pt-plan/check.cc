// pt-plan --check: is a plan legal, and does it fit?
#include <filesystem>

#include "partitiontuner/engine/judge_model.h"
#include "tools/common/commands.h"
#include "tools/common/prepare.h"
#include "tools/common/text.h"
#include "tools/pt-plan/annotate.h"
#include "tools/pt-plan/plan_flags.h"

namespace pt::tools {
namespace {

std::string ListText(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// "full": every candidate was compared with what its library says; "structure": some library is absent; "none": the
// plan is for something else.
const char* HowFarChecked(const PlanVerdict& verdict) {
  return !verdict.differences.empty() ? "none" : verdict.absent.empty() ? "full" : "structure";
}

Json VerdictToJson(const std::string& plan, const PlanVerdict& verdict) {
  Json differences = Json::MakeArray(), faults = Json::MakeArray(), absent = Json::MakeArray();
  for (const std::string& line : verdict.differences) differences.Push(line);
  for (const std::string& name : verdict.absent) absent.Push(name);
  for (const PlanFault& fault : verdict.faults) {
    Json row = Json::MakeObject();
    row.Set("id", fault.id);
    row.Set("message", fault.message);
    faults.Push(std::move(row));
  }
  Json json = Json::MakeObject();
  json.Set("plan", plan);
  json.Set("legal", verdict.may_run());
  json.Set("checked", HowFarChecked(verdict));
  json.Set("faults", std::move(faults));
  json.Set("differences", std::move(differences));
  json.Set("absent_libraries", std::move(absent));
  return json;
}

// A plan file for the model, here, that is not there yet.
std::string FreeNameFor(const std::string& model) {
  namespace fs = std::filesystem;
  const std::string stem = fs::path(model).stem().string();
  std::string name = stem + ".ptplan.json";
  std::error_code problem;
  for (int number = 2; fs::exists(name, problem); ++number) name = stem + "-" + std::to_string(number) + ".ptplan.json";
  return name;
}

std::string VerdictText(const PlanFlags& flags, const Plan& plan, const PlanVerdict& verdict) {
  std::string text;
  for (const std::string& line : verdict.differences) text += "does not fit: " + line + "\n";
  if (!verdict.differences.empty()) {
    // A plan that may be good for another model or machine is not to be lost by pasting this.
    return text + "the plan does not fit this model, machine or version; make another: " +
           CommandFor("pt-plan", flags.common) + " -o " + FreeNameFor(flags.common.model()) + "\n";
  }
  for (const PlanFault& fault : verdict.faults) text += "fault: " + fault.id + ": " + fault.message + "\n";
  const size_t faults = verdict.faults.size();
  if (faults > 0) text += std::to_string(faults) + (faults == 1 ? " fault\n" : " faults\n");
  if (!verdict.absent.empty()) {
    text += "structure only: not loaded: " + ListText(verdict.absent) + "; what " +
            (verdict.absent.size() == 1 ? "its" : "their") +
            " steps do was not checked, and the plan cannot run here\n";
  }
  if (verdict.may_run()) {
    text += "legal: " + std::to_string(plan.steps.size()) + " steps, predicted " + ShortTime(plan.makespan.ns) + "\n";
  }
  return text;
}

}  // namespace

Result<int> CheckPlanFile(const PlanFlags& flags, Console& console) {
  PT_ASSIGN(const PlanningSetup setup, MakePlanningSetup(flags));
  PT_ASSIGN(const Plan plan, LoadPlan(flags.check));
  if (flags.common.keep_nan()) {
    PT_CHECK_OK(CheckKeepsNan(plan, flags.check, CommandFor("pt-plan", flags.common) + " -o FILE"));
  }
  const Machine& machine = setup.engine->machine();
  const PlanVerdict verdict = JudgePlan(*setup.model, machine, plan);
  if (verdict.may_run() && plan.made_for.model_hash != setup.model->model_hash) {
    console.Warn("the model's weights are not those the plan was made with; the plan stays legal");
  }
  PT_CHECK_OK(WriteOut(flags.common.json() ? WriteJson(VerdictToJson(flags.check, verdict)) + "\n"
                                           : VerdictText(flags, plan, verdict)));
  const Status status = StatusOf(verdict);
  if (!status.ok()) return static_cast<int>(status.error().code);
  PT_CHECK_OK(WriteAnnotated(flags, *setup.model->graph, machine.platform(), plan, console));
  return 0;
}

}  // namespace pt::tools
