// Control flow around what a graph computes: some of its nodes go into a branch of an If or the body of a Loop or Scan,
// and what comes out of it is the same.
#pragma once

#include <cstdint>

#include "partitiontuner/graph/graph.h"

namespace pt::testing {

// Which nodes, and into what, follows from the seed; up to three deep. Conditions and trip counts are such as only a
// run knows, and constants. A graph in which there is nothing to nest comes back as it is.
Result<Graph> NestAtRandom(const Graph& graph, uint64_t seed);

}  // namespace pt::testing
