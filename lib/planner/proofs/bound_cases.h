// The bound by paths and work with its heaviest choices decided: in each segment the nodes that matter most run on the
// host or beside it, in every combination, and the least of these bounds holds. What choices that are fractions hide
// is seen so.
#pragma once

#include "lib/planner/proofs/bound_paths.h"

namespace pt {

// Without cases, and with them.
struct CasesBound {
  double paths_ns = 0, cases_ns = 0;
};

// In ns. Segments are chained: what ends one is moved, from where it was made, within the next.
CasesBound BoundByCases(const Space& space, const Segments& segments);

}  // namespace pt
