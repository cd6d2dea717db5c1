// QuantizeLinear and DequantizeLinear in the text of kernels, with the roundings of the reference library.
#pragma once

#include <span>
#include <string>

#include "partitiontuner/graph/graph.h"
#include "plugins/cuda/element_types.h"

namespace pt::cuda {

// What real numbers are quantised to: integers of 8 and 16 bits.
bool IsQuantised(DataType type);
// What is dequantised: these, and int32.
bool IsDequantisable(DataType type);

// Whether one of the nodes quantises or dequantises.
bool HasQuantisation(const Graph& graph, std::span<const NodeId> nodes);

// Expressions of one element. scale: a float; zero: an integer of the type `from` or `to`, empty for none. NaN becomes
// the integer 0.
std::string QuantisedText(const std::string& real, const std::string& scale, const std::string& zero, DataType to);
std::string DequantisedText(const std::string& integer, const std::string& scale, const std::string& zero,
                            DataType from);

}  // namespace pt::cuda
