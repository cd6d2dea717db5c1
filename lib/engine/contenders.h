// Ways to plan a model that are worth a run beside each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/engine/planning_context.h"

namespace pt {

struct Contender {
  std::string name;  // Finalist::planner
  PlanOptions options;
  std::optional<std::vector<Candidate>> candidates;  // in place of the model's
  // Runs unless its prediction is far behind. Other programs' runtimes bring threads, memory and caches that the steps
  // beside them feel; measurements of steps alone, which predictions are made from, do not show it.
  bool always_runs = false;
};

// The planner asked for; then every other one that answers the same way each time, for each device where it wants one;
// then the search from other starts; last, where libraries of plugins run nodes on the host, the planner asked for
// without these libraries, and with each of them wherever it can.
std::vector<Contender> ContendersFor(const PlanningContext& context);

}  // namespace pt
