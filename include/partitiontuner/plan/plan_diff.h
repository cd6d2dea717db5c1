// What differs between two plans, as data and in words.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// One difference. `what`: "graph", "machine", "planner", "makespan", "bound", "unit", "groups", "kernel", "layout",
// "order", "copies", "reorders" or "memory".
struct PlanDifference {
  std::string what;
  std::string where;  // the nodes (by index in the planned graph), unit or device concerned; may be empty
  std::string a, b;   // of either plan
  friend bool operator==(const PlanDifference&, const PlanDifference&) = default;
};

// Where the graphs differ, nodes are not compared; units and devices are told by their names. In the order of `what`
// above. Errors: kInvalidInput for a step or arena whose unit, candidate or device the plan lacks, or whose node is run
// twice; such a plan is not legal, but others that are not legal either are compared.
Result<std::vector<PlanDifference>> DiffPlans(const Plan& a, const Plan& b);

// A line each: "unit of nodes 3-7, 9: cpu[0] in A, acc:0#0 in B"; "the plans do the same" where there is none.
std::string ToText(const std::vector<PlanDifference>& differences);
Json ToJson(const std::vector<PlanDifference>& differences);

}  // namespace pt
