// Workload: a planning problem as data: operators with their times on a CPU core and on an accelerator instead of a
// model, and numbers of both instead of a machine. Nothing of it can run. The format is that of the published workloads
// of Tarnawski and others, "Efficient Algorithms for Device Placement of DNN Graph Operators", NeurIPS 2020
// (https://github.com/msr-fiddle/dnn-partitioning); docs/workloads.md says what each field becomes.
#pragma once

#include <string_view>
#include <vector>

#include "partitiontuner/cost/table_costs.h"
#include "partitiontuner/planner/planner.h"

namespace pt {

struct Workload {
  Graph graph;                        // one node an operator, in a topological order; no inputs, no outputs
  Platform platform;                  // device "cpu" with units cpu[0], …; accelerators "acc:0", … of one unit each
  std::vector<Candidate> candidates;  // each operator alone, on the classes that support it
  TableCosts costs;
  Constraints constraints;   // classes that share a device, what operators keep on accelerators, and what those hold
  bool is_training = false;  // some operators compute gradients

  // Borrows from this.
  PlanningProblem problem() const { return {graph, platform, candidates, costs, constraints}; }
};

// `what` names the text in errors. Errors: kInvalidInput with the place in the file: a missing, unknown or ill-typed
// field, an id that is missing or used twice, an edge twice, costs that differ among the edges out of one operator, a
// cycle, and numbers that are negative or too large: nothing is allocated by them before.
Result<Workload> WorkloadFromJson(const Json& json, std::string_view what, const Limits& limits = {});

}  // namespace pt
