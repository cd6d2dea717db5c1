#include "partitiontuner/engine/judge_model.h"

#include "partitiontuner/engine/several_models.h"

namespace pt {

PlanVerdict JudgePlan(const Model& model, const Machine& machine, const Plan& plan) {
  PlanVerdict verdict;
  verdict.differences = ModelDifferences(model, plan);
  PlanVerdict of_graph = JudgePlan(*model.graph, machine.platform(), machine.libraries(), plan);
  if (verdict.differences.empty()) return of_graph;
  verdict.differences.insert(verdict.differences.end(), of_graph.differences.begin(), of_graph.differences.end());
  return verdict;
}

}  // namespace pt
