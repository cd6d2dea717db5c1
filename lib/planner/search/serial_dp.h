// SolveSerial: the cover, forms and devices that take the least time on one stream, one step after another: dynamic
// programming over the nodes in depth-first order. The state is where and in which forms the live values are and
// which nodes wait for a group that ends later, so branches and joins are exact as long as the beam keeps all states.
#pragma once

#include <functional>

#include "lib/planner/schedule/schedule.h"

namespace pt {

struct SerialRules {
  // Options that may be chosen; empty = all.
  std::function<bool(const Option&)> allowed;
  // What choosing the option costs; empty = Option::likely_ns().
  std::function<int64_t(const Option&)> cost_ns;
  bool ignore_copies = false;  // between devices; changes of form are still paid
  size_t beam = 48;            // states kept per node; fewer with many live values, 12 above 2,000 nodes
};

// Choices in a legal order, each on the first unit of its class. Behind the space's deadline one state is kept, so that
// the end is near. Errors: kInfeasible (no cover of allowed options; or the deadline is over and there is a plan).
Result<Solution> SolveSerial(const Space& space, const SerialRules& rules);

// For every node a price, so that no group costs less than its nodes' prices together (in `cost_ns` of options,
// empty = likely_ns): the sum of all prices is a lower bound on any cover.
std::vector<int64_t> NodePrices(const Space& space, const std::function<int64_t(const Option&)>& cost_ns);

}  // namespace pt
