// Where positions in an image lie and what the elements around them weigh, for a block of positions at a time; and the
// images sampled there. Vectorised; on the calling core.
#pragma once

#include <array>
#include <cstdint>

#include "partitiontuner/graph/operators/sampling.h"

namespace pt::host {

inline constexpr size_t kGridBlock = 64;    // positions that are worked out together
inline constexpr size_t kMostGridTaps = 4;  // along one dim

// One dim of the image.
struct GridAxis {
  SampleMode mode = SampleMode::kLinear;
  SamplePadding padding = SamplePadding::kZeros;
  bool align_corners = false;
  int64_t size = 1, stride = 1;  // size · stride is below 2^31

  size_t taps() const { return mode == SampleMode::kNearest ? 1 : mode == SampleMode::kLinear ? 2 : 4; }
  // The outermost coordinates that are inside.
  double low() const { return align_corners ? 0 : -0.5; }
  double high() const { return static_cast<double>(size) - (align_corners ? 1 : 0.5); }
};

// What each coordinate of a block sees along one dim, tap by tap.
struct GridTaps {
  alignas(64) std::array<std::array<int32_t, kGridBlock>, kMostGridTaps> offsets;  // -1: nothing
  alignas(64) std::array<std::array<float, kGridBlock>, kMostGridTaps> weights;
};

// Of the first `count` coordinates, from -1 to 1, and of what follows them up to whole vectors. Worked out in double.
void FindGridTaps(const GridAxis& axis, const std::array<float, kGridBlock>& coordinates, size_t count, GridTaps& taps);

// For each pair of taps of both dims, of each position.
struct GridBlock {
  size_t pairs = 0, count = 0;  // count: of the positions
  alignas(64) std::array<std::array<int32_t, kGridBlock>, kMostGridTaps * kMostGridTaps> offsets;  // -1: nothing
  alignas(64) std::array<std::array<float, kGridBlock>, kMostGridTaps * kMostGridTaps> weights;
};

// taps: along each dim; count: positions.
void JoinGridTaps(const GridTaps& rows, const GridTaps& columns, size_t taps, size_t count, GridBlock& block);

// y[p] = the sum of weights · image[offsets] over the pairs of position p, in their order; whole vectors are written.
void SampleGrid(const GridBlock& block, const float* image, std::array<float, kGridBlock>& y);

}  // namespace pt::host
