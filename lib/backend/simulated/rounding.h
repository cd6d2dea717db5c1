// How a simulated device of lower precision differs from the host: what its calls read and make, and what lies between
// their nodes, is rounded to what its numbers hold.
#pragma once

#include <memory>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/candidate/precision.h"

namespace pt {

// The mode rounds: fp16 and bf16.
bool Rounds(MathMode mode);

// The group as a graph of its own (GroupGraph) whose weights are rounded: the constants of float32 that convolutions,
// products, recurrent and arithmetic operators read. Others (the scales of Resize) decide sizes, and stay.
Result<Graph> RoundedGroup(const Graph& graph, std::span<const NodeId> nodes, MathMode mode);

// A kernel of one input and one output of the same float32 dims, which may be the same memory: the output is the input,
// rounded.
std::unique_ptr<Kernel> MakeRoundingKernel(MathMode mode);

}  // namespace pt
