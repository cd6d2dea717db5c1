// Candidates that no plan gains from, or may have, left out before anything is measured.
#pragma once

#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

// The reference library is there to be right, not fast: where another library runs the node on the same units in the
// same math mode, its candidates would only cost profiling time. What need not run at all (a view, slices of a
// concatenation) is as good by the reference library as by any other, and goes only where another library's candidate
// for the node may be elided as well.
void DropNeedlessReference(std::vector<Candidate>& candidates);

// Leaves those that keep NaN (backend/nan.h), by the word of the machine's libraries.
void DropLosingNan(const Graph& graph, const Machine& machine, std::vector<Candidate>& candidates);

}  // namespace pt
