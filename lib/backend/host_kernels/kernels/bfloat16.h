// Stretches of float32 stored as bfloat16. Vectorised; on the calling core.
#pragma once

#include <cstdint>

#include "partitiontuner/graph/half.h"

namespace pt::host {

struct Bfloat16Conversions {
  void (*widen)(const Bfloat16* x, float* y, int64_t n) = nullptr;
  void (*narrow)(const float* x, Bfloat16* y, int64_t n) = nullptr;  // to the nearest, ties to even; NaN stays NaN
};

// For the processor it is called on.
Bfloat16Conversions FindBfloat16Conversions();

}  // namespace pt::host
