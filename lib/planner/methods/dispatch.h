// Dispatch: runs of groups go to units as they become ready, by who is free: what the planners operator and path share.
#pragma once

#include <vector>

#include "lib/planner/schedule/cover_graph.h"
#include "lib/planner/solve.h"

namespace pt {

// Positions in a cover that go to one unit together, in legal order. None but the first reads from others' results.
using DispatchRun = std::vector<uint32_t>;

// All between a fork or join and the next, in the order of their first groups.
std::vector<DispatchRun> PathsOf(const CoverGraph& graph);

// Of the runs that are ready at a time those with the longest time first, if `longest_first`, else those that stand
// first in the cover. Each goes to a unit that is free then, to the one that ends it soonest where several are, and to
// the one that ends soonest of all where none is. When it would end there is reckoned without copies between devices,
// with changes of form; when units are free and runs are ready is read from a clock that knows of both. A group that
// cannot run on the unit takes the option that is cheapest so.
Solution Dispatch(const Space& space, const Solution& cover, const std::vector<DispatchRun>& runs, bool longest_first);

}  // namespace pt
