// A constant matrix of 2, 4 or 8 bits an element that a product reads as real numbers, by way of a DequantizeLinear of
// its own: what products on packed elements need to know of it.
#pragma once

#include <optional>
#include <string>

#include "partitiontuner/graph/graph.h"

namespace pt {

struct PackedMatrix {
  NodeId node;                        // the DequantizeLinear
  Tensor elements;                    // depth x columns, or the other way round
  bool transposed = false;            // columns x depth
  Tensor scales;                      // float32, finite
  std::optional<Tensor> zero_points;  // of the elements' type, as many as scales; none: 0
  int64_t depth = 0, columns = 0;
  int64_t block = 0;  // elements of a column that share a scale and a zero point; the last block may be shorter
  // From one block or column to the next one's scale, in elements of `scales`; 0 where they share it.
  int64_t block_step = 0, column_step = 0;

  int64_t blocks() const { return (depth + block - 1) / block; }
  int64_t bits() const;
  // Equal for equal content, different for different content.
  std::string content_key() const;
  // The real numbers in the elements' order, rounded as the operator's definition says.
  Tensor Dequantised() const;
};

// What a DequantizeLinear of a constant matrix makes, as a product reads it: with one scale for all, one a column, or
// one for each block of the depth and column. nullopt for everything else.
std::optional<PackedMatrix> ReadPackedMatrix(const Graph& graph, NodeId dequantisation, bool transposed);

// Whether the product's second operand has columns along its first dim; nullopt where the node is no MatMul or Gemm.
std::optional<bool> HasTransposedMatrix(const Node& product);

// The second operand of a MatMul, or of a Gemm (either way round), where it is such a matrix, which only
// this product reads, once; the first operand is not a constant. nullopt for everything else.
std::optional<PackedMatrix> PackedMatrixOf(const Graph& graph, const Node& product);

}  // namespace pt
