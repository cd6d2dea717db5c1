// What rounding may do to the values of a graph: the reference library's results, changed after every node by as much
// as another right library's may lie beside them. A value that this moves far, across a step or to another place is no
// value to compare.
#pragma once

#include <vector>

#include "partitiontuner/candidate/precision.h"
#include "partitiontuner/engine/tolerance.h"
#include "partitiontuner/graph/graph.h"

namespace pt::testing {

// How often values are shaken: before all comparisons, and again before one that fails is believed.
enum class Trials : uint8_t { kFew, kMany };

// By value of the graph: rounding as in that mode leaves it well within the tolerance of verification. values: the
// exact ones, of the same inputs.
Result<std::vector<bool>> SteadyValues(const Graph& graph, std::span<const Tensor> inputs,
                                       const std::vector<Tensor>& values, MathMode math, Trials trials = Trials::kFew);

// DefaultTolerance, and one step of the nearest quantisation that the value is made from, however it is computed with
// since: in graphs as small as those drawn no more than that becomes of it.
Tolerance ToleranceBehindSteps(const Graph& graph, ValueId value, MathMode math);

}  // namespace pt::testing
