// What passes do with the graphs that nodes hold: put their nodes in the graph around them, and tell how often they
// run.
#pragma once

#include <optional>
#include <vector>

#include "lib/transform/edit.h"

namespace pt {

// By value of the nested graph, what it is outside: captured values, and its constants, which are added. The others are
// invalid. `node` holds `subgraph`, and is of the builder's graph.
std::vector<ValueId> OutsideOf(GraphBuilder& builder, const Node& node, const Subgraph& subgraph);

// Adds the nodes of the nested graph, on the values that `outside` says; those it has nothing for are added, and filled
// in.
void AddBody(GraphBuilder& builder, const Graph& body, std::vector<ValueId>& outside);

// The one number of a constant of integers or truth values, a scalar or a list of one.
std::optional<int64_t> OneConstant(const Graph& graph, ValueId id);

// How often the body of a Loop or a Scan runs, where that is the same whatever a run brings; empty for other nodes too.
std::optional<int64_t> ConstantTrips(const Graph& graph, const Node& node);

}  // namespace pt
