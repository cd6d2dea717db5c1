// Data to measure with: what a group's inputs may hold without an error or an unusual path through a kernel.
#pragma once

#include <cstddef>
#include <span>

#include "partitiontuner/candidate/candidate.h"

namespace pt {

// Values an integer input may take.
struct ValueRange {
  int64_t least = 1, most = 2;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};
// Positions along an axis where a node of the group uses the value as indices; else small and never zero (it may be
// a divisor, a size or a count).
ValueRange RangeOf(const Graph& graph, std::span<const NodeId> nodes, ValueId value);

// Fills storage with elements of the type: floats from [-1, 1] without denormals, integers from the range, booleans
// of both kinds. Deterministic by seed. Padding of blocked layouts is filled alike.
void FillInput(DataType type, ValueRange range, uint64_t seed, std::span<std::byte> storage);

}  // namespace pt
