// Rows of convolutions on padded planes, one a channel. Vectorised along the row, float32; on the calling core. Strides
// are in elements.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/backend/host_kernels/kernels/bounds.h"

namespace pt::host {

struct PlaneRow {
  const float* x = nullptr;  // under the first kernel row of the first channel's plane
  int64_t channels = 0, channel_stride = 0;
  int64_t kernel_rows = 0, row_stride = 0;  // from kernel row to kernel row
  int64_t kernel_columns = 0;
  const int64_t* offsets = nullptr;  // of what each kernel column sees, for the first element of the row
  const float* weights = nullptr;    // channels x kernel rows x kernel columns x filters
  const float* bias = nullptr;       // filters
  int64_t filters = 0;               // one of kFilterBlocks
  float* y = nullptr;
  int64_t filter_stride = 0, columns = 0;
  std::optional<Bounds> bounds = {};  // of the results
};

// Filters computed together, the most first.
inline constexpr int64_t kFilterBlocks[] = {8, 4, 2, 1};

struct PlaneRows {
  int64_t overshoot = 0;  // that many elements behind what a row needs may be read
  void (*compute)(const PlaneRow&) = nullptr;
};

// For the processor it is called on.
PlaneRows FindPlaneRows();

}  // namespace pt::host
