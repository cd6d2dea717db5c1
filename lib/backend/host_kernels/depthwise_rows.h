// Rows of depthwise convolutions on pixels whose channels lie together. Vectorised, float32; on the calling core.
// Strides are in elements.
#pragma once

#include <cstdint>

namespace pt::host {

struct DepthwiseRow {
  // The input's row for each row of the kernel that lies within the input, and the weights of the first of these:
  // blocks of as many channels as a vector has lanes; in each, kernel rows x kernel columns x lanes.
  const float* const* rows = nullptr;
  const float* weights = nullptr;
  int64_t rows_inside = 0;
  int64_t weights_stride = 0;                                     // from block to block
  const float* bias = nullptr;                                    // channels, filled up to whole blocks; null: none
  int64_t kernel_columns = 0, stride = 1, dilation = 1, pad = 0;  // along the row
  int64_t channels = 0;
  int64_t in_pixels = 0, in_pixel_stride = 0;
  float* y = nullptr;
  int64_t out_pixels = 0, out_pixel_stride = 0;
  // Results are kept within these; what is NaN stays so.
  bool bounded = false;
  float low = 0, high = 0;
};

struct DepthwiseRows {
  int64_t lanes = 0;
  void (*compute)(const DepthwiseRow&) = nullptr;
};

// For the processor it is called on.
DepthwiseRows FindDepthwiseRows();

}  // namespace pt::host
