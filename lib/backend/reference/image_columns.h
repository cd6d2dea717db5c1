// The geometry of a convolution in three dims.
#pragma once

#include <algorithm>
#include <array>

#include "lib/backend/reference/sliding_window.h"

namespace pt::reference {

// One spatial geometry with three dims (ToThreeDims).
struct Columns {
  std::array<int64_t, 3> in{}, out{}, kernel{}, stride{}, dilation{}, pad{};
  int64_t plane = 0;  // elements of one input channel
  int64_t taps = 0;   // of one channel
  int64_t count = 0;  // output positions

  explicit Columns(const SlidingWindow& w) {
    for (size_t d = 0; d < 3; ++d) {
      in[d] = w.in[d];
      out[d] = w.out[d];
      kernel[d] = w.kernel[d];
      stride[d] = w.stride[d];
      dilation[d] = w.dilation[d];
      pad[d] = w.pad_begin[d];
    }
    plane = in[0] * in[1] * in[2];
    taps = kernel[0] * kernel[1] * kernel[2];
    count = out[0] * out[1] * out[2];
  }

  // The range of i in 0..n-1 for which 0 <= first + i·step < limit.
  static std::pair<int64_t, int64_t> Inside(int64_t first, int64_t step, int64_t limit, int64_t n) {
    const int64_t low = first >= 0 ? 0 : (-first + step - 1) / step;
    const int64_t high = first >= limit ? 0 : (limit - 1 - first) / step + 1;
    const int64_t begin = std::min(low, n);
    return {begin, std::clamp(high, begin, n)};
  }
};

}  // namespace pt::reference
