// Which products are computed with a matrix that stays as few bits an element as the model has it.
#pragma once

#include "partitiontuner/graph/graph.h"

namespace pt {

// The node turns a constant matrix of a few bits an element into real numbers (PackedMatrix) of which one use is the
// second operand of a product, maybe by way of a Transpose: the product's first operand does not come from integers
// itself, and the matrix is not so small that it lies in the caches anyway.
bool IsReadByPackedProduct(const Graph& graph, NodeId dequantisation, Use use);

// The same of all uses of its result, which is not an output of the graph; or it makes the matrices of experts.
bool FeedsPackedProducts(const Graph& graph, NodeId dequantisation);
// Sizes of such a product are not known (yet). Packed matrices need sizes that are known before run time.
bool FeedsUnsizedProducts(const Graph& graph, NodeId dequantisation);

// A Transpose that swaps the dims of a matrix.
bool TurnsMatrix(const Graph& graph, const Node& node);

}  // namespace pt
