// Operators on the critical path in parts that can run beside each other, where that makes the plan faster: the
// splitting of the critical path's operators, which libraries can profile like any others.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/engine/engine.h"

namespace pt {

struct SplitOptions {
  uint32_t trials = 8;  // rewritten graphs that are measured and planned, at most
  uint32_t parts = 2;   // of each operator
  // A trial is kept where the predicted makespan shrinks by more than this share: parts are new candidates, and of many
  // the luckiest measurement would win.
  double least_gain = 0.005;
  MeasureOptions measure;  // of what the parts need and the database lacks
};

struct SplitTrial {
  NodeSplit split;
  std::string node;         // as NodeLabel says it
  int64_t before_ns = 0;    // the makespan of the plan that it was tried on
  int64_t makespan_ns = 0;  // with it; 0 when there was no plan
  bool kept = false;
};

struct SplitPlan {
  std::shared_ptr<const Model> model;  // rewritten by what was kept; the given one when nothing was
  Plan plan;
  PlanningNotes notes;
  std::vector<SplitTrial> trials;  // in the order in which they were made
};

// Splits what takes longest on the critical path of the plan, by channels and then by rows, keeps the graph where the
// planner's plan gets faster, and goes on with the next on the path of the new plan, until nothing on it is left or the
// trials are used up. Errors: those of Engine::Split, MeasureModel and MakePlan; kUsage for constraints that name nodes
// or values, which a rewritten graph numbers anew, for time slices and requests, and for costs from a profile file,
// which knows no parts. Where planning.watch ends it the plan is the best so far, stopped by "interrupted".
Result<SplitPlan> PlanWithSplits(Engine& engine, std::shared_ptr<const Model> model, const PlanOptions& planning,
                                 const SplitOptions& options);

}  // namespace pt
