// What runs along rows, contiguous stretches of a float32 tensor of which each result needs all elements:
// normalisations and softmax. Vectorised; the row may be overwritten.
#pragma once

#include <cstdint>

namespace pt::host {

struct RowCall {
  const float* x = nullptr;
  float* y = nullptr;  // may be x
  int64_t n = 0;       // at least 1
  // Of normalisations: an element each, or null.
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 0;
};
using RowFunction = void (*)(const RowCall&);

enum class RowKind : uint8_t {
  kNormalize,     // (x - mean) / sqrt(variance + epsilon) · scale + bias
  kNormalizeRms,  // x / sqrt(mean of x² + epsilon) · scale + bias
  kSoftmax,
  kLogSoftmax,
};

// For the processor it is called on.
RowFunction FindRowFunction(RowKind kind);

}  // namespace pt::host
