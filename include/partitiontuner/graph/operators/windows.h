// What convolutions and poolings say of their windows, as the node has it: backend/window_parameters.h resolves
// padding for dims that are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// kSameUpper, kSameLower: as much as makes the result the input by the stride; an odd one behind, or before.
enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

// The attributes of Convolutions and poolings, read and checked.
struct WindowNode {
  std::vector<int64_t> strides, dilations;  // one each spatial dim
  std::vector<int64_t> pads;                // before each spatial dim, then behind each
  AutoPad auto_pad = AutoPad::kNotSet;
  bool rounds_up = false;                             // poolings: the last window may reach beyond the padding
  std::vector<int64_t> output_padding, output_shape;  // transposed convolutions; output_shape empty: not given

  bool is_same() const { return auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower; }
  // The padding before a dim, of all that auto_pad adds to it.
  int64_t Before(int64_t total) const { return auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2; }
  friend bool operator==(const WindowNode&, const WindowNode&) = default;
};
// Values are not looked at. Errors: kInvalidInput for an unknown auto_pad, and where the attributes are not of as many
// dims.
Result<WindowNode> ReadWindowNode(const Node& node, size_t spatial);

// nullopt where the node names none: a convolution's is that of its weights.
std::optional<std::vector<int64_t>> ReadKernelShape(const Node& node);
// How many groups of channels a convolution keeps apart. May be wrong: 0, or no divisor of the channels.
int64_t ReadConvolutionGroups(const Node& node);

// The attributes of Poolings, read and checked.
struct PoolingNode {
  bool counts_pads = false;   // AveragePool: its divisor does
  bool column_major = false;  // MaxPool: its indices are
  int64_t power = 2;          // LpPool; may be wrong: 0 or less

  friend bool operator==(const PoolingNode&, const PoolingNode&) = default;
};
PoolingNode ReadPoolingNode(const Node& node);

// DeformConv: how many groups of channels have offsets of their own. May be wrong.
int64_t ReadOffsetGroups(const Node& node);

// CausalConvWithState: what becomes of the sums is x * sigmoid(x), else they stay. Error: kInvalidInput for an unknown
// activation.
Result<bool> HasSilu(const Node& node);

}  // namespace pt
