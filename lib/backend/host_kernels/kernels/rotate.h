// Pairs of numbers rotated by angles, as rotary embeddings do; vectorised.
#pragma once

#include <cstdint>

namespace pt::host {

struct RotateCall {
  const float* x = nullptr;
  float* y = nullptr;  // may be x
  // Of the angles, one for each pair.
  const float* cosines = nullptr;
  const float* sines = nullptr;
  int64_t pairs = 0;
  bool interleaved = false;  // the pair's numbers are neighbours; else the second ones come behind all first ones
};

void RotatePairs(const RotateCall& call);

}  // namespace pt::host
