// Rows of convolutions that keep groups of channels apart. Vectorised over output channels, float32; on the calling
// core. Strides are in elements.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/backend/host_kernels/kernels/bounds.h"

namespace pt::host {

// An input row of some channels as `compute` wants it: for each chunk of as many channels as a vector has lanes, padded
// pixels x lanes. Zeros stand for what lies beside the image and for channels that fill up the last chunk.
struct PaddedRow {
  const float* x = nullptr;  // the image's row at the first of the channels
  int64_t pixels = 0, pixel_stride = 0, channels = 0;
  int64_t block = 0, block_stride = 0;  // that many channels lie together; no chunk is part of two blocks
  int64_t pad = 0;                      // pixels of zeros before those of the image
  float* to = nullptr;
  int64_t padded_pixels = 0;  // in all; the image's that do not fit are left out
};

// One output row of as many channels as a vector has lanes, or fewer, of one group or of several whole groups.
struct GroupedRow {
  // For each row of the kernel that lies within the input its padded row, and the weights of the first of these: kernel
  // rows x a group's input channels x kernel columns x lanes.
  const float* const* rows = nullptr;
  int64_t rows_inside = 0, padded_pixels = 0;
  const float* weights = nullptr;
  const float* bias = nullptr;  // lanes; null: none
  int64_t group_channels = 0;   // input channels of one group
  // Where there are several groups: group_channels x lanes, which channel of the only chunk each lane multiplies. Null
  // for one group, all of whose lanes multiply the same one.
  const int32_t* channel_of_lane = nullptr;
  int64_t kernel_columns = 0, stride = 1, dilation = 1;  // along the row
  float* y = nullptr;                                    // at the first of the channels, which lie together
  int64_t out_pixels = 0, out_pixel_stride = 0, out_channels = 0;
  std::optional<Bounds> bounds = {};  // of the results
};

struct GroupedRows {
  int64_t lanes = 0;
  void (*pad)(const PaddedRow&) = nullptr;
  void (*compute)(const GroupedRow&) = nullptr;
};

// For the processor it is called on.
GroupedRows FindGroupedRows();

}  // namespace pt::host
