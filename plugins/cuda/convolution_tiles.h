// Convolutions as products of matrices: weights by windows, which are gathered while they are multiplied.
#pragma once

#include "plugins/cuda/tiles.h"
#include "plugins/cuda/window.h"

namespace pt::cuda {

// A convolution of a site.
struct CudaConvolution {
  const CudaOperand *x = nullptr, *w = nullptr;
  std::vector<int64_t> y_dims;
  WindowParameters window;
  int64_t groups = 1;
  bool transposed = false;
  std::optional<TiledBytes> bytes = {};  // of 8-bit integers: w on the left, x on the right
  // Statements that take `sum`, or `total` of integers, add the bias, do what the nodes behind do, and write the
  // result's element at c0 (of the batch), c1 (channel), c2, ….
  std::string epilogue;

  int64_t in_each() const { return x->dims()[1] / groups; }  // channels of a group
  int64_t products() const;                                  // that each element of the result is the sum of
};

// Sizes of tiles worth trying, the most promising first: "64x64".
std::vector<std::string> TileVariants(const CudaConvolution& convolution);
// kUnsupported for another variant.
Result<CudaRoutine> MakeTiles(const CudaSite& site, const CudaConvolution& convolution, std::string_view variant);

}  // namespace pt::cuda
