// Matrix product in tiles that stay in registers: the core of convolution, matmul and recurrence. The tile is
// compiled for several processors and chosen at run time. Each element of C is summed in one fixed order, whatever
// the split over cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lib/backend/reference/operator.h"

namespace pt::reference {

// c[rows][cols] (+)= sum over p < k of a[p][rows] · b[p][cols]; a and b packed, c at row stride c_stride.
template <typename T>
struct Tile {
  int64_t rows = 0, cols = 0;
  void (*multiply)(int64_t k, const T* a, const T* b, T* c, int64_t c_stride, bool accumulate) = nullptr;
  // out[i] += sum over j < taps of weights[j] · in[i·step + j·dilation]: one row of a depthwise convolution.
  void (*filter_row)(int64_t n, int64_t taps, const T* weights, const T* in, int64_t step, int64_t dilation,
                     T* out) = nullptr;
};
template <typename T>
const Tile<T>& HostTile();  // float, double

inline constexpr int64_t kDepthBlock = 256;  // of the summed dim: a packed panel of B stays in the first cache
inline constexpr int64_t kMostTileElements = 512;

inline int64_t Panels(int64_t extent, int64_t tile) { return (extent + tile - 1) / tile; }

// A matrix in memory, any strides.
template <typename T>
struct Strided {
  const T* data = nullptr;
  int64_t row_stride = 0, col_stride = 0;
};

// A (m × k) as panels of `rows` rows: [panel][k][rows], the last padded with zeros.
template <typename T>
void PackRows(const Strided<T>& a, int64_t m, int64_t k, int64_t rows, T scale, T* packed) {
  for (int64_t i0 = 0; i0 < m; i0 += rows) {
    const int64_t n = std::min(rows, m - i0);
    for (int64_t p = 0; p < k; ++p) {
      const T* from = a.data + i0 * a.row_stride + p * a.col_stride;
      for (int64_t i = 0; i < n; ++i) packed[i] = scale * from[i * a.row_stride];
      for (int64_t i = n; i < rows; ++i) packed[i] = T{0};
      packed += rows;
    }
  }
}

// Rows p0..p0+depth-1 of the B columns at j0: [depth][cols], padded with zeros.
template <typename T>
void PackColumns(const Strided<T>& b, int64_t p0, int64_t depth, int64_t j0, int64_t n, int64_t cols, T* packed) {
  const int64_t width = std::min(cols, n - j0);
  for (int64_t p = 0; p < depth; ++p) {
    const T* from = b.data + (p0 + p) * b.row_stride + j0 * b.col_stride;
    if (b.col_stride == 1) {
      std::copy(from, from + width, packed);
    } else {
      for (int64_t j = 0; j < width; ++j) packed[j] = from[j * b.col_stride];
    }
    for (int64_t j = width; j < cols; ++j) packed[j] = T{0};
    packed += cols;
  }
}

// A block of C: row panels and column panels of tiles.
struct PanelRange {
  int64_t row_begin = 0, row_end = 0, col_begin = 0, col_end = 0;
};

// C over `range` (+)= packed A · B. panel(p0, depth, col_panel) gives B's packed rows p0.. of that column panel.
template <typename T, typename Panel>
void MultiplyPanels(const Tile<T>& tile, int64_t m, int64_t n, int64_t k, const T* packed_a, Panel&& panel, T* c,
                    int64_t c_stride, bool accumulate, const PanelRange& range) {
  for (int64_t p0 = 0; p0 < k; p0 += kDepthBlock) {
    const int64_t depth = std::min(kDepthBlock, k - p0);
    for (int64_t jp = range.col_begin; jp < range.col_end; ++jp) {
      const T* b = panel(p0, depth, jp);
      const int64_t width = std::min(tile.cols, n - jp * tile.cols);
      for (int64_t ip = range.row_begin; ip < range.row_end; ++ip) {
        const T* a = packed_a + ip * tile.rows * k + p0 * tile.rows;
        const int64_t height = std::min(tile.rows, m - ip * tile.rows);
        T* at = c + ip * tile.rows * c_stride + jp * tile.cols;
        const bool add = accumulate || p0 != 0;
        if (height == tile.rows && width == tile.cols) {
          tile.multiply(depth, a, b, at, c_stride, add);
          continue;
        }
        T edge[kMostTileElements];
        tile.multiply(depth, a, b, edge, tile.cols, false);
        for (int64_t i = 0; i < height; ++i) {
          for (int64_t j = 0; j < width; ++j) {
            at[i * c_stride + j] = add ? at[i * c_stride + j] + edge[i * tile.cols + j] : edge[i * tile.cols + j];
          }
        }
      }
    }
  }
  if (k == 0 && !accumulate) {
    for (int64_t i = range.row_begin * tile.rows; i < std::min(m, range.row_end * tile.rows); ++i) {
      for (int64_t j = range.col_begin * tile.cols; j < std::min(n, range.col_end * tile.cols); ++j)
        c[i * c_stride + j] = T{0};
    }
  }
}

// How `batch` products of so many panels are cut into `width` parts: along columns, or along rows where that
// balances better. Part i of n works on items [begin, end) of batch × panels.
struct Split {
  bool by_rows = false;
  int64_t row_panels = 0, col_panels = 0, batch = 1;

  Split(int64_t batch_count, int64_t rows, int64_t cols, int64_t width)
      : row_panels(rows), col_panels(cols), batch(batch_count) {
    const auto used = [&](int64_t items) {  // share of the parts' time that is work
      const int64_t most = std::max<int64_t>(1, (items + width - 1) / width);
      return static_cast<double>(items) / static_cast<double>(most * width);
    };
    by_rows = used(batch * rows) > used(batch * cols) + 0.05;
  }
  int64_t items() const { return batch * (by_rows ? row_panels : col_panels); }

  // f(batch_index, range) for the items of part i of n.
  template <typename F>
  void ForPart(int64_t i, int64_t n, F&& f) const {
    const int64_t per = by_rows ? row_panels : col_panels;
    const int64_t begin = items() * i / n, end = items() * (i + 1) / n;
    for (int64_t at = begin; at < end;) {
      const int64_t b = at / per, from = at % per, to = std::min(per, from + end - at);
      f(b, by_rows ? PanelRange{from, to, 0, col_panels} : PanelRange{0, row_panels, from, to});
      at += to - from;
    }
  }
};

// f(i, n) for each of n parts, also without a team.
template <typename F>
void ForParts(Team* team, uint32_t n, F&& f) {
  if (team != nullptr && n > 1) {
    auto body = [&](uint32_t i, uint32_t of) { f(i, of); };
    team->ParallelFor(n, body);
  } else {
    for (uint32_t i = 0; i < n; ++i) f(i, n);
  }
}

// A constant operand in the format a routine wants, kept once for all kernels; null before compilation.
Result<std::shared_ptr<DeviceBuffer>> PackConstant(const Site& site, const Tensor& constant, const std::string& format,
                                                   uint64_t bytes, const std::function<void(void*)>& fill);

// Bytes of `count` elements of T, rounded up to whole cache lines.
template <typename T>
uint64_t LineBytes(int64_t count) {
  return (static_cast<uint64_t>(count) * sizeof(T) + 63) / 64 * 64;
}

}  // namespace pt::reference
