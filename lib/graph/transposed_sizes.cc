#include "partitiontuner/graph/transposed_sizes.h"

#include <algorithm>
#include <string>

#include "partitiontuner/graph/operators/windows.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

constexpr int64_t kMost = int64_t{1} << 31;  // no dim, stride or pad beyond it: products of two stay below 63 bits

Error InvalidSizes(std::string why) {
  return MakeError(ErrorCode::kInvalidInput, "graph.transposed_sizes", std::move(why));
}

bool AllWithin(std::span<const int64_t> values, int64_t least) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= least && v < kMost; });
}

}  // namespace

Result<TransposedSizes> TransposedSizesOf(const Node& node, std::span<const int64_t> in,
                                          std::span<const int64_t> kernel) {
  const size_t rank = in.size();
  PT_ASSIGN(const WindowNode window, ReadWindowNode(node, rank));
  TransposedSizes sizes{window.strides, window.dilations, {}, {}};
  const Dims &extra = window.output_padding, &pads = window.pads;
  Dims shape = window.output_shape;
  if (shape.size() == rank + 2) shape.erase(shape.begin(), shape.begin() + 2);
  if (kernel.size() != rank || (!shape.empty() && shape.size() != rank)) {
    return InvalidSizes("kernel or output_shape do not fit its spatial dims");
  }
  if (!AllWithin(sizes.strides, 1) || !AllWithin(sizes.dilations, 1) || !AllWithin(kernel, 1) || !AllWithin(extra, 0) ||
      !AllWithin(pads, -kMost) || !AllWithin(shape, 0) || !AllWithin(in, INT64_MIN)) {
    return InvalidSizes("strides, dilations, pads, output_padding or output_shape are out of range");
  }
  for (size_t d = 0; d < rank; ++d) {
    const bool known = in[d] >= 0;
    const int64_t count = known ? in[d] : 0, span = (kernel[d] - 1) * sizes.dilations[d] + 1;
    if (span > kMost) return InvalidSizes("a dilated kernel is too large");
    const int64_t full = sizes.strides[d] * (count - 1) + extra[d] + span;
    int64_t out = full, begin = 0;
    if (!shape.empty() || window.is_same()) {
      out = !shape.empty() ? shape[d] : count * sizes.strides[d];
      const int64_t total = std::max<int64_t>(0, full - out);
      begin = window.Before(total);
    } else if (window.auto_pad != AutoPad::kValid) {
      begin = pads[d];
      out = full - begin - pads[d + rank];
    }
    if (known && out < 0) return InvalidSizes("its output would have a negative dim");
    sizes.out.push_back(known || !shape.empty() ? out : -1);
    sizes.pads_begin.push_back(known ? begin : 0);
  }
  return sizes;
}

}  // namespace pt
