// Which sizes STFT makes, by the text of ONNX: for inference and for kernels.
#pragma once

#include <cstdint>
#include <optional>

namespace pt {

// Frames of `frame` samples that fit into a signal, one every `step` samples; nullopt where none does or an argument is
// not positive.
inline std::optional<int64_t> FramesOf(int64_t signal, int64_t frame, int64_t step) {
  if (frame < 1 || step < 1 || frame > signal) return std::nullopt;
  return (signal - frame) / step + 1;
}

// Numbers of the spectrum of a frame that are given out; onesided leaves out those that mirror others.
inline int64_t BinsOf(int64_t frame, bool onesided) { return onesided ? frame / 2 + 1 : frame; }

}  // namespace pt
