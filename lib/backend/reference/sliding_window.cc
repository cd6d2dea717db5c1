#include "lib/backend/reference/sliding_window.h"

#include <algorithm>

#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

constexpr int64_t kMost = int64_t{1} << 31;  // no dim, stride or pad beyond it: sums stay far from overflow

bool AllWithin(const std::vector<int64_t>& values, int64_t least) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= least && v < kMost; });
}

}  // namespace

Result<SlidingWindow> ReadWindow(const ReferenceSite& site, std::vector<int64_t> in, std::vector<int64_t> kernel) {
  const size_t rank = in.size();
  PT_ASSIGN(const WindowNode node, OrInvalid(ReadWindowNode(site.node, rank), site));
  if (kernel.size() != rank)
    return site.Invalid("the dims of kernel_shape do not fit the spatial dims " + DimsText(in));
  SlidingWindow w;
  w.stride = node.strides;
  w.dilation = node.dilations;
  const std::vector<int64_t>& pads = node.pads;
  if (!AllWithin(w.stride, 1) || !AllWithin(w.dilation, 1) || !AllWithin(kernel, 1)) {
    return site.Invalid("strides, dilations and kernel dims must be positive");
  }
  if (!AllWithin(pads, -kMost) || !AllWithin(in, 0)) return site.Invalid("pads or dims are too large");
  const bool ceil_mode = node.rounds_up;
  for (size_t d = 0; d < rank; ++d) {
    const std::optional<int64_t> reach = CheckedMul(kernel[d] - 1, w.dilation[d]);
    if (!reach || *reach >= kMost) return site.Invalid("a dilated kernel is too large");
    const int64_t span = *reach + 1;
    int64_t begin = pads[d], end = pads[d + rank];
    int64_t out = 0;
    if (node.is_same()) {
      out = (in[d] + w.stride[d] - 1) / w.stride[d];
      const int64_t total = std::max<int64_t>(0, (out - 1) * w.stride[d] + span - in[d]);
      begin = node.Before(total);
      end = total - begin;
    } else {
      if (node.auto_pad == AutoPad::kValid) begin = end = 0;
      const int64_t room = in[d] + begin + end - span;
      if (room < 0) {
        return site.Invalid("a window of " + std::to_string(span) + " does not fit a padded dim of " +
                            std::to_string(in[d] + begin + end));
      }
      out = (ceil_mode ? (room + w.stride[d] - 1) / w.stride[d] : room / w.stride[d]) + 1;
      // With ceil_mode the last window must still begin inside the input or its leading padding.
      if (ceil_mode && (out - 1) * w.stride[d] >= in[d] + begin) --out;
    }
    w.pad_begin.push_back(begin);
    w.pad_end.push_back(end);
    w.out.push_back(out);
  }
  w.in = std::move(in);
  w.kernel = std::move(kernel);
  return w;
}

SlidingWindow ToThreeDims(SlidingWindow w) {
  const size_t missing = w.in.size() < 3 ? 3 - w.in.size() : 0;
  for (std::vector<int64_t>* ones : {&w.in, &w.kernel, &w.stride, &w.dilation, &w.out})
    ones->insert(ones->begin(), missing, 1);
  w.pad_begin.insert(w.pad_begin.begin(), missing, 0);
  w.pad_end.insert(w.pad_end.begin(), missing, 0);
  return w;
}

}  // namespace pt::reference
