#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/products/panels.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "lib/backend/host_kernels/kernels/bounded-inl.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"
#include "lib/backend/host_kernels/kernels/transpose.h"
#include "lib/backend/host_kernels/products/panels.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kVectors = 2;  // of a panel's row
// Of a tile: its sums and a row of the panel fill the registers.
constexpr int64_t kRows = hn::MaxLanes(D()) >= 16 ? 8 : 5;

int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
int64_t PanelColumns() { return kVectors * Lanes(); }

void PackRows(const PackCall<float>& call, const float* b, int64_t columns, int64_t width, float* to) {
  for (int64_t k = 0; k < call.depth; ++k, to += width) {
    std::copy_n(b + k * call.row_stride, columns, to);
    std::fill_n(to + columns, width - columns, 0.0F);
  }
}

void PackColumns(const PackCall<float>& call, const float* b, int64_t columns, int64_t width, float* to) {
  TransposeBlock(sizeof(float), b, call.column_stride, to, width, call.depth, columns);
  for (int64_t k = 0; k < call.depth && columns < width; ++k)
    std::fill_n(to + k * width + columns, width - columns, 0.0F);
}

void PackElements(const PackCall<float>& call, const float* b, int64_t columns, int64_t width, float* to) {
  for (int64_t k = 0; k < call.depth; ++k, to += width) {
    const float* from = b + k * call.row_stride;
    for (int64_t j = 0; j < width; ++j) to[j] = j < columns ? from[j * call.column_stride] : 0;
  }
}

void Pack(const PackCall<float>& call) {
  const int64_t width = PanelColumns();
  const auto pack = call.column_stride == 1 ? PackRows : (call.row_stride == 1 ? PackColumns : PackElements);
  for (int64_t j = 0; j < call.columns; j += width) {
    pack(call, call.b + j * call.column_stride, std::min(width, call.columns - j), width, call.panels + j * call.depth);
  }
}

// Where a tile begins.
struct Corner {
  const float* a;
  const float* panel;
  const float* bias;
  float* c;
  const float* row_scales;
  const float* residual;
  int64_t columns;
  // What the tile brings into the cache for those behind it: from here on, this many elements for each step of depth.
  const float* ahead = nullptr;
  int64_t ahead_step = 0;
};

// Tiles leave through these. One vector of R rows into C, `columns` of its lanes:
template <int64_t R, int64_t N>
HWY_INLINE void StoreRows(const V (&sums)[R][N], int64_t v, int64_t columns, float* c, int64_t row_stride) {
  const D d;
  if (columns >= Lanes()) {
    for (int64_t r = 0; r < R; ++r) hn::StoreU(sums[r][v], d, c + r * row_stride);
  } else if (columns > 0) {
    for (int64_t r = 0; r < R; ++r) StoreRest(d, sums[r][v], c + r * row_stride, columns);
  }
}

// The reverse of it: adds `columns` elements of each row.
template <int64_t R, int64_t N>
HWY_INLINE void AddRows(const float* x, int64_t row_stride, int64_t columns, int64_t v, V (&sums)[R][N]) {
  const D d;
  if (columns >= Lanes()) {
    for (int64_t r = 0; r < R; ++r) sums[r][v] = hn::Add(sums[r][v], hn::LoadU(d, x + r * row_stride));
  } else if (columns > 0) {
    for (int64_t r = 0; r < R; ++r) sums[r][v] = hn::Add(sums[r][v], LoadRest(d, x + r * row_stride, columns));
  }
}

// Columns that lie apart in C.
void ScatterRows(const ProductCall<float>& call, const float* tile, int64_t tile_columns, int64_t rows, float* c,
                 int64_t columns) {
  for (int64_t r = 0; r < rows; ++r, tile += tile_columns, c += call.c_row_stride) {
    for (int64_t j = 0; j < columns; ++j) c[j * call.c_column_stride] = tile[j];
  }
}

// R rows and the columns of P panels, of the first vector of one panel where `vectors` is 1.
template <int64_t R, int64_t P, int64_t vectors>
HWY_INLINE void Tile(const ProductCall<float>& call, const Corner& corner) {
  static_assert(P == 1 || vectors == kVectors);
  constexpr int64_t kSums = P * vectors;
  const D d;
  const int64_t lanes = Lanes(), panel_stride = kVectors * lanes * call.depth;
  const float *HWY_RESTRICT a = corner.a, *HWY_RESTRICT panel = corner.panel;
  V sums[R][kSums];
  for (int64_t v = 0; v < kSums; ++v) {
    const V first = corner.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, corner.bias + v * lanes);
    for (int64_t r = 0; r < R; ++r) sums[r][v] = first;
  }
  const float* ahead = corner.ahead == nullptr ? panel : corner.ahead;
  for (int64_t k = 0; k < call.depth;
       ++k, panel += kVectors * lanes, a += call.a_column_stride, ahead += corner.ahead_step) {
    hwy::Prefetch(ahead);
    V b[kSums];
    for (int64_t v = 0; v < kSums; ++v) {
      b[v] = hn::Load(d, panel + v / kVectors * panel_stride + v % kVectors * lanes);
    }
    for (int64_t r = 0; r < R; ++r) {
      const V x = hn::Set(d, a[r * call.a_row_stride]);
      for (int64_t v = 0; v < kSums; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
  }
  if (corner.row_scales != nullptr) {
    for (int64_t r = 0; r < R; ++r) {
      const V scale = hn::Set(d, corner.row_scales[r]);
      for (int64_t v = 0; v < kSums; ++v) sums[r][v] = hn::Mul(sums[r][v], scale);
    }
  }
  if (corner.residual != nullptr) {
    for (int64_t v = 0; v < kSums; ++v) {
      AddRows(corner.residual + v * lanes, call.residual_row_stride, corner.columns - v * lanes, v, sums);
    }
  }
  if (call.bounds) {
    const V low = hn::Set(d, call.bounds->low), high = hn::Set(d, call.bounds->high);
    for (int64_t r = 0; r < R; ++r) {
      for (int64_t v = 0; v < kSums; ++v) sums[r][v] = Bounded(low, high, sums[r][v]);
    }
  }
  if (call.c_column_stride == 1) {
    const int64_t columns = call.c_has_room ? kSums * lanes : corner.columns;
    for (int64_t v = 0; v < kSums; ++v) {
      StoreRows(sums, v, columns - v * lanes, corner.c + v * lanes, call.c_row_stride);
    }
    return;
  }
  HWY_ALIGN float tile[R * kSums * hn::MaxLanes(D())];
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t v = 0; v < kSums; ++v) hn::Store(sums[r][v], d, tile + (r * kSums + v) * lanes);
  }
  ScatterRows(call, tile, kSums * lanes, R, corner.c, corner.columns);
}

// So few rows do not keep the arithmetic busy with one panel: sums that depend on each other would wait.
constexpr int64_t PanelsAtOnce(int64_t rows) {
  if (rows == 1) return 4;
  return kRows >= 8 ? (rows == 2 ? 4 : (rows <= 4 ? 2 : 1)) : (rows == 2 ? 2 : 1);
}

// All columns of R rows.
template <int64_t R>
HWY_INLINE void RowsOf(const ProductCall<float>& call, Corner corner) {
  constexpr int64_t kPanels = PanelsAtOnce(R);
  const int64_t width = PanelColumns();
  for (int64_t j = 0; j < call.columns;) {
    const int64_t left = call.columns - j;
    corner.panel = call.panels + j * call.depth;
    corner.bias = call.bias == nullptr ? nullptr : call.bias + j;
    if (left > (kPanels - 1) * width && kPanels > 1) {
      corner.columns = std::min(kPanels * width, left);
      Tile<R, kPanels, kVectors>(call, corner);
    } else {
      corner.columns = std::min(width, left);
      if (corner.columns <= Lanes()) {
        Tile<R, 1, 1>(call, corner);
      } else {
        Tile<R, 1, kVectors>(call, corner);
      }
    }
    j += corner.columns;
    corner.c += corner.columns * call.c_column_stride;
    if (corner.residual != nullptr) corner.residual += corner.columns;
  }
}

// The rows that are left, fewer than a tile has.
template <int64_t R>
void Rest(const ProductCall<float>& call, int64_t rows, const Corner& corner) {
  if constexpr (R > 1) {
    if (rows < R) return Rest<R - 1>(call, rows, corner);
  }
  RowsOf<R>(call, corner);
}

void Multiply(const ProductCall<float>& call) {
  const int64_t width = PanelColumns(), whole = call.rows / kRows * kRows;
  const auto scales = [&](int64_t i) { return call.row_scales == nullptr ? nullptr : call.row_scales + i; };
  const auto residual = [&](int64_t i, int64_t j) {
    return call.residual == nullptr ? nullptr : call.residual + i * call.residual_row_stride + j;
  };
  for (int64_t j = 0; j < call.columns && whole > 0; j += width) {
    const int64_t columns = std::min(width, call.columns - j);
    // Panels come from the outer cache or from memory: while one is multiplied, its tiles fetch parts of the next.
    const int64_t ahead_step = j + width < call.columns ? width * kRows / whole : 0;
    const float* next = call.panels + (j + width) * call.depth;
    const float* bias = call.bias == nullptr ? nullptr : call.bias + j;
    for (int64_t i = 0; i < whole; i += kRows) {
      const Corner corner{call.a + i * call.a_row_stride,
                          call.panels + j * call.depth,
                          bias,
                          call.c + i * call.c_row_stride + j * call.c_column_stride,
                          scales(i),
                          residual(i, j),
                          columns,
                          ahead_step == 0 ? nullptr : next + i / kRows * ahead_step * call.depth,
                          ahead_step};
      if (columns <= Lanes()) {
        Tile<kRows, 1, 1>(call, corner);
      } else {
        Tile<kRows, 1, kVectors>(call, corner);
      }
    }
  }
  if (whole == call.rows) return;
  const Corner corner{call.a + whole * call.a_row_stride,
                      nullptr,
                      nullptr,
                      call.c + whole * call.c_row_stride,
                      scales(whole),
                      residual(whole, 0),
                      0};
  Rest<kRows - 1>(call, call.rows - whole, corner);
}

}  // namespace

PanelProducts<float> FindProducts() { return {PanelColumns(), 1, Pack, Multiply}; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindProducts);

}  // namespace

template <>
PanelProducts<float> FindPanelProducts() {
  return HWY_DYNAMIC_DISPATCH(FindProducts)();
}

}  // namespace pt::host
#endif
