// FindExact: the solution with the smallest makespan, by branch and bound over covers, options, units and orders.
#pragma once

#include <string>

#include "lib/planner/schedule/schedule.h"

namespace pt {

// What the search below can take: nodes fit a word, and so do the places and forms of each value. Beyond about 16
// groups in a cover it seldom ends.
inline constexpr size_t kMostExactNodes = 20;

struct ExactLimits {
  uint64_t evaluations = 0;  // partial schedules
};

struct ExactResult {
  Solution solution;                  // the best that is known; may be the start
  int64_t makespan_ns = kImpossible;  // of Scheduler::Run
  bool proven = false;                // none is better
  bool out_of_time = false;
  uint64_t evaluations = 0;
};

// Empty when the space can be searched; else why not.
std::string ExactFault(const Space& space);

// start: a legal solution that keeps the limits of whole plans, or empty. Deterministic, unless the space's deadline is
// over. The proof holds with respect to Scheduler::Run and those limits. Precondition: no ExactFault.
ExactResult FindExact(const Space& space, Solution start, const ExactLimits& limits);

}  // namespace pt
