// Mean and variance of channels that lie side by side, pixel by pixel, and what is scaled by them. Vectorised; on the
// calling core.
#pragma once

#include <cstdint>

namespace pt::host {

// Some pixels of one image at one distance; channels are next to each other.
struct PixelRun {
  int64_t pixels = 0, channels = 0;
  int64_t x_stride = 0, y_stride = 0;  // from pixel to pixel
};

// Arrays of sums are padded to a multiple of this many channels, so that whole vectors fit.
inline constexpr int64_t kSumRoom = 8;

// Adds to each channel's sum of distances from its pivot, and of their squares, in double.
struct DistancesCall {
  PixelRun run;
  const float* x = nullptr;
  const float* pivots = nullptr;
  double *sums = nullptr, *squares = nullptr;
};
void AddDistances(const DistancesCall& call);

// y = (x - mean) · factor + bias, each channel with its own. y may be x.
struct CentreCall {
  PixelRun run;
  const float* x = nullptr;
  float* y = nullptr;
  const float *means = nullptr, *factors = nullptr, *biases = nullptr;
};
void CentreChannels(const CentreCall& call);

}  // namespace pt::host
