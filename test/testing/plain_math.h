// Convolution and matrix product as nested loops in double precision, sharing nothing with the library's own kernels,
// which are packed and vectorised: folding, fallback and oracle would share one fault otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "partitiontuner/graph/tensor.h"

namespace pt::testing {

// Of one to three spatial dims; all lists have one entry a spatial dim, `pads` the begins and then the ends.
struct ConvolutionSettings {
  std::vector<int64_t> strides, dilations, pads;
  int64_t group = 1;
};

// Conv of float32 tensors x [N,C,...] and w [M,C/group,...]; bias [M] or null. The dims must fit each other.
Tensor PlainConvolution(const Tensor& x, const Tensor& w, const Tensor* bias, const ConvolutionSettings& settings);

// MatMul of float32 tensors, with the broadcasting and the vectors of numpy.matmul. The dims must fit each other.
Tensor PlainMatMul(const Tensor& a, const Tensor& b);

}  // namespace pt::testing
