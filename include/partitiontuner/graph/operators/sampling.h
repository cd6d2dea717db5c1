// What a GridSample, RoiAlign, MaxRoiPool or AffineGrid says.
#pragma once

#include <cstdint>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

enum class SampleMode : uint8_t { kNearest, kLinear, kCubic };
enum class SamplePadding : uint8_t { kZeros, kBorder, kReflection };

// The attributes of GridSample, read and checked.
struct GridSampleNode {
  SampleMode mode = SampleMode::kLinear;
  SamplePadding padding = SamplePadding::kZeros;
  bool align_corners = false;

  friend bool operator==(const GridSampleNode&, const GridSampleNode&) = default;
};
// Errors: kInvalidInput for unknown words.
Result<GridSampleNode> ReadGridSample(const Node& node);

// The attributes of RoiAlign, read and checked.
struct RoiAlignNode {
  int64_t out_height = 1, out_width = 1;
  int64_t ratio = 0;  // samples of a bin in each dim; 0: as its size asks for
  float scale = 1;
  bool average = true;     // else the greatest
  bool half_pixel = true;  // coordinates; never before operator set 16

  friend bool operator==(const RoiAlignNode&, const RoiAlignNode&) = default;
};
// Errors: kInvalidInput for an unknown mode, results without elements, and a ratio that is not within 0 and 4096.
Result<RoiAlignNode> ReadRoiAlign(const Node& node, int64_t opset);

// The attributes of MaxRoiPool, read and checked.
struct MaxRoiPoolNode {
  int64_t rows = 1, columns = 1;  // of the result
  float scale = 1;
};
// Errors: kInvalidInput unless pooled_shape is two positive numbers.
Result<MaxRoiPoolNode> ReadMaxRoiPool(const Node& node);

// AffineGrid: -1 and 1 are the middles of the first and last element, else their outer edges.
bool AlignsCorners(const Node& node);

}  // namespace pt
