// Which products (convolutions, matrix products) the model asks to be computed on integers.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

// The value comes from 8-bit integers through a DequantizeLinear, maybe by way of operators that only move elements.
bool ComesFromBytes(const Graph& graph, ValueId value);

// The value is the second operand of a product whose first comes from 8-bit integers through a DequantizeLinear, maybe
// by way of operators that only move elements; it is dequantised as such a product can take it: weights with zero
// points in the middle of their range, scales along the output channels.
bool IsReadByIntegerProduct(const Graph& graph, const Node& dequantisation, Use use);

}  // namespace pt
