#include "tools/report/plan_facts.h"

namespace pt::tools {

BestSingle BestSingleOf(const Plan& plan) {
  BestSingle best;
  for (const auto& [name, ns] : plan.report.baselines_ns) {
    if (!name.starts_with("single:") || (!best.name.empty() && ns >= best.ns)) continue;
    best = {name, ns};
  }
  return best;
}

MoveCounts CountMoves(const Plan& plan) {
  MoveCounts moves;
  for (const Step& step : plan.steps) {
    moves.copies += std::holds_alternative<Copy>(step.work);
    moves.reorders += std::holds_alternative<Reorder>(step.work);
  }
  return moves;
}

}  // namespace pt::tools
