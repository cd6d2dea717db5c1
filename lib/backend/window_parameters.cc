#include "partitiontuner/backend/window_parameters.h"

#include <algorithm>

#include "partitiontuner/graph/operators/windows.h"

namespace pt {
namespace {

using Dims = WindowParameters::Dims;

constexpr int64_t kMost = int64_t{1} << 30;

bool AllWithin(const Dims& values, int64_t least) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= least && v <= kMost; });
}

// Attributes as they stand; sizes and ranges checked.
std::optional<WindowParameters> Stated(const WindowNode& node, std::span<const int64_t> kernel, size_t spatial) {
  WindowParameters window;
  window.kernel.assign(kernel.begin(), kernel.end());
  window.strides = node.strides;
  window.dilations = node.dilations;
  const Dims& pads = node.pads;
  if (spatial == 0 || spatial > 3 || window.kernel.size() != spatial || !AllWithin(window.kernel, 1) ||
      !AllWithin(window.strides, 1) || !AllWithin(window.dilations, 1) || !AllWithin(pads, 0)) {
    return std::nullopt;
  }
  window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  window.stated_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  window.pads_end = window.stated_end;
  return window;
}

int64_t Extent(const WindowParameters& window, size_t i) { return (window.kernel[i] - 1) * window.dilations[i] + 1; }

}  // namespace

WindowParameters::Dims WindowParameters::dilates() const {
  Dims result = dilations;
  for (int64_t& d : result) --d;
  return result;
}

std::optional<WindowParameters> WindowOf(const Node& node, std::span<const int64_t> kernel, std::span<const int64_t> in,
                                         std::span<const int64_t> out) {
  const Result<WindowNode> said = ReadWindowNode(node, in.size());
  auto window = said.ok() ? Stated(*said, kernel, in.size()) : std::nullopt;
  if (!window || out.size() != in.size()) return std::nullopt;
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t extent = Extent(*window, i);
    const int64_t needed = (out[i] - 1) * window->strides[i] + extent - in[i];
    if (said->is_same()) {
      const int64_t total = std::max<int64_t>(needed, 0);
      window->pads_begin[i] = said->Before(total);
      window->stated_end[i] = total - window->pads_begin[i];
    } else if (said->auto_pad == AutoPad::kValid) {
      window->pads_begin[i] = window->stated_end[i] = 0;
    }
    window->pads_end[i] = window->stated_end[i];
    const int64_t span = in[i] + window->pads_begin[i] + window->pads_end[i] - extent;
    if (span < 0 || span / window->strides[i] + 1 != out[i]) window->pads_end[i] = needed - window->pads_begin[i];
  }
  return window;
}

std::optional<WindowParameters> TransposedWindowOf(const Node& node, std::span<const int64_t> kernel,
                                                   std::span<const int64_t> in, std::span<const int64_t> out) {
  const Result<WindowNode> said = ReadWindowNode(node, in.size());
  auto window = said.ok() ? Stated(*said, kernel, in.size()) : std::nullopt;
  if (!window || out.size() != in.size()) return std::nullopt;
  const bool sized = !said->output_shape.empty();
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t full = (in[i] - 1) * window->strides[i] + Extent(*window, i);
    if (sized || said->is_same()) {
      const int64_t total = std::max<int64_t>(full + said->output_padding[i] - out[i], 0);
      window->pads_begin[i] = said->Before(total);
    } else if (said->auto_pad == AutoPad::kValid) {
      window->pads_begin[i] = 0;
    }
    window->pads_end[i] = full - window->pads_begin[i] - out[i];
  }
  return window;
}

}  // namespace pt
