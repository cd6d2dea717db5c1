// Sliding windows: the geometry that convolution and pooling share.
#pragma once

#include "lib/backend/reference/operator.h"

namespace pt::reference {

struct SlidingWindow {
  std::vector<int64_t> in, kernel, stride, dilation, pad_begin, pad_end, out;  // one entry a spatial dim
};

// Reads strides, dilations, pads, auto_pad and ceil_mode for a window of dims `kernel` over spatial dims `in`.
Result<SlidingWindow> ReadWindow(const ReferenceSite& site, std::vector<int64_t> in, std::vector<int64_t> kernel);

// The same window with leading spatial dims of 1 up to three.
SlidingWindow ToThreeDims(SlidingWindow window);

}  // namespace pt::reference
