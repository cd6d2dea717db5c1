// SolveBySegments: a solution put together from stretches that are solved one by one, for all plausible places and
// forms of the values between them: the chain that is shortest in sum. Equal stretches are solved once.
#pragma once

#include <cstdint>
#include <span>

#include "lib/planner/solve.h"

namespace pt {

struct SegmentResult {
  Solution solution;  // empty: the graph has no frontiers, or the evaluations or the time do not suffice
  uint64_t evaluations = 0;
};

// starts: legal solutions, the best first. Where they leave values at frontiers is what is plausible, and stretches too
// long to be solved are taken from the first. solve: a planner that keeps the effort and the time limit of its problem.
// evaluations: of all stretches together. Deterministic, unless the space's deadline is over.
SegmentResult SolveBySegments(const Space& space, std::span<const Solution* const> starts, uint64_t evaluations,
                              SolveFunction solve);

}  // namespace pt
