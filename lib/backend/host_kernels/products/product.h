// Products with constant matrices, packed once (large ones of few rows are read as they lie; those of a few bits an
// element stay so, or become real numbers once) and, where rows are stored as bfloat16, rounded to it: MatMul, Gemm or
// a pointwise convolution with what is element-wise behind it, or several MatMuls and Gemms that read one input.
#pragma once

#include <optional>
#include <vector>

#include "lib/backend/host_kernels/kernels/bounds.h"
#include "lib/backend/host_kernels/operator.h"
#include "partitiontuner/graph/packed_matrix.h"

namespace pt::host {

// One product, rows of `input` times a constant matrix, plus a constant row. Rows are along the last dim; of a
// pointwise convolution they are pixels, of channels-last images.
struct ConstantProduct {
  ValueId input, result;
  Tensor matrix;            // depth x columns, or the other way round
  bool transposed = false;  // columns x depth
  bool pointwise = false;
  int64_t row_step = 1, column_step = 1;  // of a pointwise convolution, from pixel to pixel of its input
  std::optional<Tensor> bias = {};
  ValueId residual = {};              // of the result's dims, added to it; invalid: none
  std::optional<Bounds> bounds = {};  // of the results
  std::vector<NodeId> nodes = {};     // that it stands for, ascending
  // What the matrix is stored as, if it is made by a DequantizeLinear, which then is one of the nodes; `matrix` holds
  // its elements.
  std::optional<PackedMatrix> packed = {};

  int64_t depth() const { return matrix.dims()[transposed ? 1 : 0]; }
  int64_t columns() const { return matrix.dims()[transposed ? 0 : 1]; }
};

inline constexpr size_t kMostProducts = 4;  // of one input in one group
// Larger matrices are read from memory, where the library with blocked products is at home, unless rows are few.
inline constexpr size_t kMostPackedBytes = size_t{4} << 20;

// The products that a group consists of, and the element-wise rest. The rest is empty unless there is one product.
struct ProductGroup {
  std::vector<ConstantProduct> products;
  std::vector<NodeId> rest;  // ascending
};

// nullopt where the nodes are not such a group. What adds to a product is a part of it, or of the rest.
enum class ResidualPlace { kInProducts, kInRest };
std::optional<ProductGroup> ReadProducts(const Graph& graph, std::span<const NodeId> nodes,
                                         ResidualPlace residuals = ResidualPlace::kInProducts);

// Few rows by a large matrix: reading it takes longer than computing with it, and panels gain nothing.
bool IsThin(const Graph& graph, const ConstantProduct& product);

// They are such a group of a pointwise convolution.
bool IsPointwise(const Graph& graph, std::span<const NodeId> nodes);

// Groups of several nodes worth offering. `able`: nodes that run element-wise.
std::vector<std::vector<NodeId>> ProductGroups(const Graph& graph, const std::vector<bool>& able);

// The site's nodes, which the group was read from. kUnsupported where types or dims do not fit.
Result<HostRoutine> MakeProducts(const HostSite& site, const ProductGroup& group);

}  // namespace pt::host
