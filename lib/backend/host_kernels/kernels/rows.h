// What runs along rows, contiguous stretches of a float32 tensor of which each result needs all elements:
// normalisations and softmax. Vectorised; the row may be overwritten.
#pragma once

#include <cstdint>

namespace pt::host {

struct RowMoments {
  float mean = 0, mean_rest = 0;  // their sum is the mean, more exact than one float
  float inverse = 0;              // 1 / sqrt(variance + epsilon)
};

struct RowCall {
  const float* x = nullptr;
  float* y = nullptr;  // may be x
  int64_t n = 0;       // at least 1
  // Of normalisations: an element each (or one for all), or null.
  const float* scale = nullptr;
  const float* bias = nullptr;
  bool one_scale = false;
  float epsilon = 0;
  RowMoments* moments = nullptr;
};
using RowFunction = void (*)(const RowCall&);

enum class RowKind : uint8_t {
  kMoments,       // of x, into `moments`
  kCentre,        // (x - mean) · inverse · scale + bias with the `moments`
  kNormalize,     // (x - mean) / sqrt(variance + epsilon) · scale + bias
  kNormalizeRms,  // x / sqrt(mean of x² + epsilon) · scale + bias
  kSoftmax,
  kLogSoftmax,
};

// For the processor it is called on.
RowFunction FindRowFunction(RowKind kind);

}  // namespace pt::host
