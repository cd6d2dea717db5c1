// Which size Resize makes of a dim by a scale, by the text of ONNX: for inference and for kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace pt {

// extent: what part of the dim the region spans, 1 except for tf_crop_and_resize. nullopt where the size is not within
// [0, 2^31).
inline std::optional<int64_t> ResizedDim(int64_t in, double scale, double extent) {
  const double size = std::floor(static_cast<double>(in) * scale * extent);
  return size >= 0 && size < 0x1p31 ? std::optional(static_cast<int64_t>(size)) : std::nullopt;
}

}  // namespace pt
