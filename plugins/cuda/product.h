// Matrix products as cuBLASLt takes them: MatMul and Gemm, alone or with a bias, a matrix to be added, and a Relu.
#pragma once

#include <vector>

#include "plugins/cuda/site.h"

namespace pt::cuda {

// One operand: `batch` matrices of rows x columns, row-major, each row `row_stride` elements behind the one before.
// transposed: the product takes it the other way round.
struct Matrix {
  int64_t rows = 0, columns = 0, row_stride = 0, batch_stride = 0;
  bool transposed = false;
};

// result = alpha * a * b [+ beta * added] [+ bias, the same for every row] [then Relu], `batch` times.
struct Product {
  int64_t batch = 1;
  Matrix a, b, result;
  float alpha = 1, beta = 0;
  bool relu = false;
  // Indices into Site::in; the result is output 0. added has the result's dims and strides of its own.
  uint32_t a_input = 0, b_input = 0;
  std::optional<uint32_t> bias_input, added_input;
  Matrix added;

  bool is_empty() const { return batch == 0 || result.rows == 0 || result.columns == 0; }
};

// The nodes as a product, or kUnsupported with the reason: a MatMul or Gemm first, behind it an Add, a Relu, or both.
Result<Product> MakeProduct(const Site& site);

// Groups worth offering: each product with what follows it, as far as nobody else needs what is between.
std::vector<std::vector<NodeId>> ProductGroups(const Graph& graph);

}  // namespace pt::cuda
