// Products of few rows with a matrix as it lies, which is read once and from memory: neighbouring rows of the matrix
// side by side, since one stream of reads alone leaves a third of the bandwidth unused. Vectorised; on the calling
// core. Strides are in elements.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/backend/host_kernels/kernels/bounds.h"

namespace pt::host {

inline constexpr int64_t kMostThinRows = 4;

// C = A · B + bias, within bounds. Elements that lie beside each other: of A along the depth, of C along the columns.
struct ThinCall {
  const float* a = nullptr;  // rows x depth
  int64_t a_stride = 0;
  const float* b = nullptr;  // depth x columns, or columns x depth where transposed
  int64_t b_stride = 0;
  bool transposed = false;
  const float* bias = nullptr;  // columns; null: none
  int64_t rows = 0, depth = 0, columns = 0;
  float* c = nullptr;  // rows x columns
  int64_t c_stride = 0;
  std::optional<Bounds> bounds = {};  // of the results
};

// For the processor it is called on. Up to kMostThinRows rows.
using ThinProduct = void (*)(const ThinCall&);
ThinProduct FindThinProduct();

}  // namespace pt::host
