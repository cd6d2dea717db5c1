// Resize and Upsample, dim by dim: which elements of the input an output index is made of, and by what weights.
#pragma once

#include <vector>

#include "partitiontuner/graph/operators/resize.h"
#include "plugins/cuda/site.h"

namespace pt::cuda {

// One dim: output index o is the sum of weights[o * width + k] times the input's element sources[o * width + k].
struct DimTaps {
  size_t dim = 0;
  int64_t width = 1;
  std::vector<int32_t> sources;
  std::vector<float> weights;
  std::vector<int32_t> outside;  // 1: the extrapolation value instead; empty where there is none such
};

struct Resizing {
  std::vector<DimTaps> dims;  // those that change, or are cropped; no two alike
  bool nearest = false;       // every weight is 1
  float extrapolation = 0;
};

// Of a Resize or Upsample whose scales, sizes and region are constant. kUnsupported where they are not, or do not fit.
Result<Resizing> ReadResizing(const CudaSite& site);

}  // namespace pt::cuda
