// Convolutions as products of matrices: weights by windows, which are gathered while they are multiplied (implicit
// GEMM). A block of threads makes a tile of the result from slices in shared memory.
#pragma once

#include "plugins/cuda/operators.h"
#include "plugins/cuda/window.h"

namespace pt::cuda {

// A convolution of a site.
struct Convolution {
  const Operand *x = nullptr, *w = nullptr, *bias = nullptr;  // bias may be null
  std::vector<int64_t> y_dims;
  WindowParameters window;
  int64_t groups = 1;
  bool transposed = false;
  // Statements that take `sum`, add the bias, do what the nodes behind do, and write the result's element at c0 (of the
  // batch), c1 (channel), c2, ….
  std::string epilogue;
};

Result<std::string> EpilogueOf(const Site& site, const Convolution& convolution);

// Sizes of tiles worth trying, the most promising first: "64x64".
std::vector<std::string> TileVariants(const Convolution& convolution);
// kUnsupported for another variant.
Result<Routine> MakeTiles(const Site& site, const Convolution& convolution, std::string_view variant);

}  // namespace pt::cuda
