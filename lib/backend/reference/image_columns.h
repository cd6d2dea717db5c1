// An image as the matrix that a convolution multiplies with: row (channel, tap), column (output position). Rows
// are made where the product needs them, a panel at a time, so that no big matrix lies in memory.
#pragma once

#include <algorithm>
#include <array>

#include "lib/backend/reference/sliding_window.h"

namespace pt::reference {

// One spatial geometry with three dims (ToThreeDims).
struct Columns {
  std::array<int64_t, 3> in{}, out{}, kernel{}, stride{}, dilation{}, pad{};
  int64_t plane = 0;  // elements of one input channel
  int64_t taps = 0;   // of one channel
  int64_t count = 0;  // output positions

  explicit Columns(const SlidingWindow& w) {
    for (size_t d = 0; d < 3; ++d) {
      in[d] = w.in[d];
      out[d] = w.out[d];
      kernel[d] = w.kernel[d];
      stride[d] = w.stride[d];
      dilation[d] = w.dilation[d];
      pad[d] = w.pad_begin[d];
    }
    plane = in[0] * in[1] * in[2];
    taps = kernel[0] * kernel[1] * kernel[2];
    count = out[0] * out[1] * out[2];
  }
  bool is_pointwise() const {
    return taps == 1 && in == out && stride == std::array<int64_t, 3>{1, 1, 1} && pad == std::array<int64_t, 3>{};
  }

  // The range of i in 0..n-1 for which 0 <= first + i·step < limit.
  static std::pair<int64_t, int64_t> Inside(int64_t first, int64_t step, int64_t limit, int64_t n) {
    const int64_t low = first >= 0 ? 0 : (-first + step - 1) / step;
    const int64_t high = first >= limit ? 0 : (limit - 1 - first) / step + 1;
    const int64_t begin = std::min(low, n);
    return {begin, std::clamp(high, begin, n)};
  }

  // Rows p0..p0+depth-1, columns j0.. (at most cols <= 64, up to count), packed as gemm.h's panels of B.
  template <typename T>
  void Pack(const T* image, int64_t p0, int64_t depth, int64_t j0, int64_t cols, T* packed) const {
    struct Piece {
      int64_t at, n, z, y, x;  // columns of one output row: at.. in the panel, from output position (z, y, x)
    };
    std::array<Piece, 64> pieces;
    size_t piece_count = 0;
    const int64_t width = std::min(cols, count - j0);
    for (int64_t at = 0; at < width;) {
      const int64_t j = j0 + at, x = j % out[2], n = std::min(out[2] - x, width - at);
      pieces[piece_count++] = {at, n, j / out[2] / out[1], j / out[2] % out[1], x};
      at += n;
    }
    for (int64_t p = p0; p < p0 + depth; ++p, packed += cols) {
      const int64_t tap = p % taps;
      const int64_t kx = tap % kernel[2], ky = tap / kernel[2] % kernel[1], kz = tap / kernel[2] / kernel[1];
      const T* channel = image + p / taps * plane;
      for (size_t i = 0; i < piece_count; ++i) {
        const Piece& piece = pieces[i];
        T* to = packed + piece.at;
        const int64_t z = piece.z * stride[0] - pad[0] + kz * dilation[0];
        const int64_t y = piece.y * stride[1] - pad[1] + ky * dilation[1];
        if (z < 0 || z >= in[0] || y < 0 || y >= in[1]) {
          std::fill(to, to + piece.n, T{0});
          continue;
        }
        const int64_t x = piece.x * stride[2] - pad[2] + kx * dilation[2];
        const auto [begin, end] = Inside(x, stride[2], in[2], piece.n);
        const T* row = channel + (z * in[1] + y) * in[2];
        std::fill(to, to + begin, T{0});
        if (stride[2] == 1) {
          if (begin < end) std::copy(row + x + begin, row + x + end, to + begin);
        } else {
          for (int64_t k = begin; k < end; ++k) to[k] = row[x + k * stride[2]];
        }
        std::fill(to + end, to + piece.n, T{0});
      }
      std::fill(packed + width, packed + cols, T{0});
    }
  }
};

}  // namespace pt::reference
