// Kernel, strides, dilations and pads of convolutions and poolings, with auto_pad and ceil_mode
// resolved.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// A convolution's or pooling's windows with the sizes of its tensors known.
struct WindowParameters {
  using Dims = std::vector<int64_t>;

  Dims kernel, strides, dilations;  // dilations as in ONNX: 1 = dense
  Dims pads_begin, pads_end;        // pads_end such that oneDNN's size formula gives the output's dims
  Dims stated_end;                  // pads_end as the node says, before rounding up or cutting off

  Dims dilates() const;  // as in oneDNN: 0 = dense
};

// in, out: spatial dims. nullopt when attributes and dims do not fit together.
std::optional<WindowParameters> WindowOf(const Node& node, std::span<const int64_t> kernel, std::span<const int64_t> in,
                                         std::span<const int64_t> out);
// The same for a transposed convolution, whose window slides over the output.
std::optional<WindowParameters> TransposedWindowOf(const Node& node, std::span<const int64_t> kernel,
                                                   std::span<const int64_t> in, std::span<const int64_t> out);

}  // namespace pt
