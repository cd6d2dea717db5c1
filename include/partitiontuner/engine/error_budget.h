// Error budgets: plans that compute in lower precision where that pays, and stray from fp32 no further than allowed.
// What was reached is in the plan (PlanReport::budget). See docs/decisions/0009-error-budget.md.
#pragma once

#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/graph/tensor.h"

namespace pt {

// How far a plan in lower precision may lie from fp32, and the data that decides it.
struct ErrorBudget {
  // The largest RelativeError (engine/verify.h) of the plan's outputs against those of the plan in fp32; above 0.
  double max_error = 1e-2;
  // Inputs in the order of the graph's, a set of tensors each. What is lowered is chosen by the first, and the plan
  // must keep the budget on the second as well, which should be none of the first. At least one of each.
  std::vector<std::vector<Tensor>> calibration, confirmation;
};

// Real numbers among the graph's outputs: without them an error budget says nothing.
bool HasRealOutput(const Graph& graph);

}  // namespace pt
