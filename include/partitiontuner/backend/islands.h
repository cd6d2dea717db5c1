// Which groups are worth offering where whole groups are compiled into one call: by other programs' libraries, for
// NPUs.
#pragma once

#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// Groups of the nodes that are taken (by index), in addition to each alone:
//  - islands: maximal groups, what hangs together without a way through a node that is not taken;
//  - stretches of islands, from one value through which all goes on to another: one, and 2, 4, 8, … in a row. Where
//    there are many such values, 32 stretches of an island are told apart;
//  - chains within islands, where every result but the last is read by the next node alone.
// Each is convex, ascending, of two nodes or more, and there once; together they have at most eight times as many
// nodes as the graph.
std::vector<std::vector<NodeId>> IslandGroups(const Graph& graph, const std::vector<bool>& taken);

}  // namespace pt
