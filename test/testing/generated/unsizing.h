// Sizes that only a run knows: a graph that computes the same, bit for bit, from a value whose dims it does not say.
#pragma once

#include <cstdint>

#include "partitiontuner/graph/graph.h"

namespace pt::testing {

// Sends one value through an operator that leaves it as it is but whose sizes a run computes: Reshape, Expand, Slice,
// Tile, Gather by a Range or by NonZero, Compress, Where, or a Loop of as many trips. Types behind it are left to be
// inferred anew. The graph as it is where it has no value to do so with.
Result<Graph> UnsizeAtRandom(const Graph& graph, uint64_t seed);

}  // namespace pt::testing
