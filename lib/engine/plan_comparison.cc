#include "lib/engine/plan_comparison.h"

#include <string>
#include <string_view>
#include <utility>

#include "lib/engine/predict_plan.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/planner/bounds.h"

namespace pt {

PlanningProblem ProblemOf(const Model& model, const Machine& machine, const CostModel& costs,
                          const PlanOptions& options) {
  const std::string_view name = options.planner;
  const size_t colon = name.find(':');
  return {.graph = *model.graph,
          .platform = machine.platform(),
          .candidates = model.candidates,
          .costs = costs,
          .constraints = options.constraints,
          .effort = options.effort,
          .seed = options.seed,
          .argument = colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1),
          .time_limit_ns = options.time_limit.count(),
          .watch = options.watch};
}

std::vector<Plan> SingleDevices(PlanningProblem problem, const Plan* made) {
  std::vector<Plan> found;
  const Result<const Planner*> single = FindPlanner("single");
  const std::string_view named = problem.argument;
  problem.watch = nullptr;  // what a plan is compared with belongs to it, also where it was interrupted
  for (const Device& device : problem.platform.devices) {
    if (made != nullptr && device.name == named) {
      found.push_back(*made);
      continue;
    }
    problem.argument = device.name;
    Result<Plan> alone = single.ok() ? (*single)->make_plan(problem, nullptr) : single.error();
    if (!alone.ok()) continue;
    alone->planner = "single:" + device.name;
    found.push_back(*std::move(alone));
  }
  return found;
}

void CompareAnew(const Model& model, const Machine& machine, const CostModel& costs, const PlanOptions& options,
                 Plan& plan) {
  const PlanningProblem problem = ProblemOf(model, machine, costs, options);
  std::erase_if(plan.report.baselines_ns, [](const auto& row) { return row.first.starts_with("single:"); });
  for (const Plan& single : SingleDevices(problem)) plan.report.baselines_ns[single.planner] = single.makespan.ns;
  Bound bound = BestBound(problem);
  SetBound(std::move(bound), plan);
}

std::string WorkOf(const Plan& plan, const Graph& graph) {
  const Json json = ToJson(plan, graph);
  std::string text;
  for (const char* key : {"candidates", "instances", "steps"}) {
    if (const Json* part = json.find(key)) text += WriteJson(*part);
  }
  return text;
}

}  // namespace pt
