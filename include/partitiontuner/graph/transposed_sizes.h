// Which sizes a transposed convolution makes, by the text of ONNX's ConvTranspose: for inference and for kernels.
#pragma once

#include <span>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// One entry a spatial dim.
struct TransposedSizes {
  std::vector<int64_t> strides, dilations;
  std::vector<int64_t> out;         // of the output; -1 where the input's is not known and no output_shape says it
  std::vector<int64_t> pads_begin;  // what is cut off in front; 0 where the input's dim is not known
};

// in: spatial dims of the input, below 0 where not known; kernel: those of the window. Under SAME_UPPER and SAME_LOWER
// the output is as large as the input times the stride, whatever output_padding says. Errors (kInvalidInput) say what
// is wrong with the attributes and dims, not of which node.
Result<TransposedSizes> TransposedSizesOf(const Node& node, std::span<const int64_t> in,
                                          std::span<const int64_t> kernel);

}  // namespace pt
