// Rows of depthwise convolutions on pixels whose channels lie together. Vectorised, float32; on the calling core.
// Pixels may be stored as bfloat16. Strides are in elements.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/backend/host_kernels/kernels/bounds.h"
#include "partitiontuner/graph/half.h"

namespace pt::host {

// T: float or Bfloat16, in which pixels are stored.
template <typename T>
struct DepthwiseRow {
  // The input's row for each row of the kernel that lies within the input, and the weights of the first of these:
  // blocks of as many channels as a vector has lanes; in each, kernel rows x kernel columns x lanes.
  const T* const* rows = nullptr;
  const float* weights = nullptr;
  int64_t rows_inside = 0;
  int64_t weights_stride = 0;                                     // from block to block
  const float* bias = nullptr;                                    // channels, filled up to whole blocks; null: none
  int64_t kernel_columns = 0, stride = 1, dilation = 1, pad = 0;  // along the row
  int64_t channels = 0;
  int64_t in_pixels = 0, in_pixel_stride = 0;
  T* y = nullptr;
  int64_t out_pixels = 0, out_pixel_stride = 0;
  std::optional<Bounds> bounds = {};  // of the results
};

template <typename T>
struct DepthwiseRows {
  int64_t lanes = 0;
  void (*compute)(const DepthwiseRow<T>&) = nullptr;
};

// For the processor it is called on.
template <typename T>
DepthwiseRows<T> FindDepthwiseRows();
template <>
DepthwiseRows<float> FindDepthwiseRows();
template <>
DepthwiseRows<Bfloat16> FindDepthwiseRows();

}  // namespace pt::host
