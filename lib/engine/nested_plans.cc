#include "lib/engine/nested_plans.h"

#include <algorithm>

#include "lib/engine/candidate_filters.h"
#include "lib/engine/made_for.h"
#include "lib/engine/make_plan.h"
#include "lib/engine/rough_costs.h"
#include "partitiontuner/backend/libraries.h"

namespace pt {
namespace {

// Kernels of plugins may bring threads of their own, for which the team's cores are not let go within a step.
bool IsBuiltIn(const std::string& library) {
  return std::ranges::any_of(BuiltInLibraries(), [&](const LibraryRow& row) { return row.name == library; });
}

// Of that class alone: the step that holds the graph has its team, and no other.
std::vector<Candidate> CandidatesOf(const Graph& graph, const Machine& machine, UnitClassId unit_class,
                                    bool keep_reference, bool keep_nan) {
  std::vector<Candidate> candidates = EnumerateCandidates(graph, machine.platform(), machine.libraries(), Precision());
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.unit_class != unit_class || !IsBuiltIn(candidate.library);
  });
  if (keep_nan) DropLosingNan(graph, machine, candidates);
  if (!keep_reference) DropNeedlessReference(candidates);
  return candidates;
}

Result<Plan> PlanNested(const Graph& graph, UnitId unit, const Machine& machine, bool keep_reference, bool keep_nan) {
  const Platform& platform = machine.platform();
  const std::vector<Candidate> candidates =
      CandidatesOf(graph, machine, platform.unit(unit).unit_class, keep_reference, keep_nan);
  const std::unique_ptr<CostModel> costs = MakeRoughCosts(graph, machine);
  PT_ASSIGN(const Planner* single, FindPlanner("single"));
  PlanningProblem problem{graph, platform, candidates, *costs};
  problem.argument = platform.device(platform.device_of(unit)).name;
  PT_ASSIGN(Plan plan, single->make_plan(problem, nullptr));
  for (Step& step : plan.steps) step.unit = unit;  // of the same class, as planners count no other
  PT_CHECK_OK(NameReorderLibraries(graph, machine, plan));
  plan.made_for = MadeForOf(graph, machine, plan);
  return plan;
}

}  // namespace

NestedPlanner MakeNestedPlanner(const Machine& machine, bool keep_reference) {
  return [&machine, keep_reference](const Graph& graph, UnitId unit, bool keep_nan) {
    return PlanNested(graph, unit, machine, keep_reference, keep_nan);
  };
}

}  // namespace pt
