// Dispatch plans for tests of sessions that decide while they run.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <utility>
#include <vector>

#include "partitiontuner/cost/table_costs.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/planner/dispatch.h"
#include "partitiontuner/version.h"
#include "test/testing/test_machine.h"

namespace pt::testing {

// All that the machine can run, at times drawn by chance.
inline DispatchPlan MakeTestDispatch(const Graph& graph, const Machine& machine, DispatchRule rule, uint32_t seed = 1,
                                     const LentOn& lent_on = {}) {
  const Platform& platform = machine.platform();
  std::mt19937 random(seed);
  std::vector<Candidate> candidates;
  TableCosts costs;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const NodeId node(n);
    for (Candidate& candidate : machine.libraries()[0]->CandidatesFor(graph, platform, {&node, 1}, Precision())) {
      costs.SetRun({node}, candidate.unit_class, 500 + static_cast<int64_t>(random() % 2000));
      candidates.push_back(std::move(candidate));
    }
  }
  for (size_t c = 0; c < platform.unit_classes.size(); ++c) costs.SetOverhead(UnitClassId(c), 0);
  for (size_t l = 0; l < platform.links.size(); ++l) costs.SetLink(LinkId(l), 100, 1);
  PlanningProblem problem{graph, platform, candidates, costs};
  problem.constraints.lent_on = lent_on;
  Result<DispatchPlan> dispatch = MakeDispatchPlan(problem, rule);
  if (!dispatch.ok()) FAIL(ToString(dispatch.error()));
  MadeFor& made_for = dispatch->plan.made_for;
  made_for.tool_version = kVersion;
  made_for.libraries = LibraryVersions(machine.libraries());
  made_for.graph_hash = ToHex(GraphHash(graph));
  made_for.platform = platform;
  return std::move(dispatch).value();
}

}  // namespace pt::testing
