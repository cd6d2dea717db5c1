// AveragePool and GlobalAveragePool of 8-bit integers, exact sums in 32 bits.
#pragma once

#include "plugins/cuda/operators.h"

namespace pt::cuda {

// The averaging of what is dequantised among the nodes; invalid where there is none.
NodeId FindIntegerAverage(const Graph& graph, std::span<const NodeId> nodes);
// It with the DequantizeLinear of its input, which nothing else reads; empty where it is none.
std::vector<NodeId> IntegerAverageNodes(const Graph& graph, NodeId average);
// With the elementwise nodes behind it. kUnsupported where types or dims do not fit.
Result<CudaRoutine> MakeIntegerAverage(const CudaSite& site);

}  // namespace pt::cuda
