// Matrix products as cuBLASLt takes them: MatMul, Gemm and pointwise convolutions, alone or with a bias, a matrix to be
// added, and an activation.
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

// What is done with each element of a result at last. Gelu: by the hyperbolic tangent, which is cuBLASLt's.
enum class ProductActivation : uint8_t { kNone, kRelu, kGelu };

// Where matrices of one call begin, in elements from where the first call's do.
struct ProductOffsets {
  int64_t a = 0, b = 0, result = 0;
};

// result = alpha * a * b [+ beta * added] [+ bias, the same for every row] [then the activation],
// `batch` times in each of the calls.
struct Product {
  int64_t batch = 1;
  std::vector<ProductOffsets> calls = {{}};  // several where matrices do not lie at even distances
  Matrix a, b, result;
  float alpha = 1, beta = 0;
  ProductActivation activation = ProductActivation::kNone;
  // How a and b are stored, and how the result, bias and added are: float32, or a and b 16 bits.
  DataType factor_type = DataType::kFloat32, result_type = DataType::kFloat32;
  // Indices into CudaSite::in; the result is output 0. added has the result's dims and strides of its own.
  uint32_t a_input = 0, b_input = 0;
  std::optional<uint32_t> bias_input, added_input;
  Matrix added;

  bool is_empty() const { return batch == 0 || calls.empty() || result.rows == 0 || result.columns == 0; }
};

// The nodes as a product, or kUnsupported with the reason: a MatMul or Gemm first, behind it an Add, a Relu or Gelu, or
// both; or a Conv whose window is one element, behind it an Add of a tensor, then a Relu or Gelu. Of images that lie
// row-major it is filters times the channels of each image; of images whose channels lie last, places times filters,
// and there is a number by channel added as well (cuBLASLt adds one to columns of its own alone). Constants are to be
// stored as what they are multiplied with, or added to.
Result<Product> MakeProduct(const CudaSite& site);

// A Conv whose window is one element and meets every one of the image.
bool IsPointwise(const Graph& graph, const Node& node);

// Groups worth offering: each product with what follows it, as far as nothing else needs what is between.
std::vector<std::vector<NodeId>> ProductGroups(const Graph& graph);

}  // namespace pt::cuda
