// Softmax of rows of scores on their way from one product to the next: all but the division. Vectorised, float32; on
// the calling core.
#pragma once

#include <cstdint>

namespace pt::host {

// Each row y = exp(y · scale + mask - the most of them), which softmax divides by its sum.
struct ScoresCall {
  float* y = nullptr;                       // 64-byte aligned; written up to the next whole vector
  int64_t rows = 0, n = 0, row_stride = 0;  // n of at least 1; the stride is a multiple of 16
  float scale = 1;
  const float* mask = nullptr;  // null: none
  int64_t mask_row_stride = 0;
  bool one_mask = false;       // the same for all of a row
  bool blind_is_zero = false;  // a row of nothing but the least numbers gives zeros, not NaN
  bool nan_is_zero = false;    // a row that the softmax makes NaN gives zeros
  float* inverses = nullptr;   // of each row: 1 / sum
};

using ScoresFunction = void (*)(const ScoresCall&);

// For the processor it is called on.
ScoresFunction FindExponentials();

}  // namespace pt::host
