// Real numbers as uint8 by their own range, as DynamicQuantizeLinear says. Vectorised; on the calling core.
#pragma once

#include <cstdint>

namespace pt::host {

// Of data, zero included. What is NaN counts for nothing.
struct ByteRange {
  float low = 0, high = 0;
};

// A byte stands for (byte - zero) · scale.
struct ByteSteps {
  float scale = 0, zero = 0;
};

// Makes the range hold all n numbers.
void Widen(const float* x, int64_t n, ByteRange& range);

ByteSteps StepsOf(const ByteRange& range);

// Divided, rounded to the nearest (ties to even), moved, kept within 0..255. What is NaN becomes 0.
void QuantiseBytes(const float* x, int64_t n, ByteSteps steps, uint8_t* y);

}  // namespace pt::host
