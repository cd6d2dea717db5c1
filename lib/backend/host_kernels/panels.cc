#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/panels.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>

#include "lib/backend/host_kernels/panels.h"
#include "lib/backend/host_kernels/transpose.h"

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

void PackRows(const PackCall& call, const float* b, int64_t columns, int64_t width, float* to) {
  for (int64_t k = 0; k < call.depth; ++k, to += width) {
    std::copy_n(b + k * call.row_stride, columns, to);
    std::fill_n(to + columns, width - columns, 0.0F);
  }
}

void PackColumns(const PackCall& call, const float* b, int64_t columns, int64_t width, float* to) {
  TransposeBlock(sizeof(float), b, call.column_stride, to, width, call.depth, columns);
  for (int64_t k = 0; k < call.depth && columns < width; ++k)
    std::fill_n(to + k * width + columns, width - columns, 0.0F);
}

void PackElements(const PackCall& call, const float* b, int64_t columns, int64_t width, float* to) {
  for (int64_t k = 0; k < call.depth; ++k, to += width) {
    const float* from = b + k * call.row_stride;
    for (int64_t j = 0; j < width; ++j) to[j] = j < columns ? from[j * call.column_stride] : 0;
  }
}

void Pack(const PackCall& call) {
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
  float* c;
  const float* row_scales;
  int64_t columns;
};

// Rows of so many columns from a tile into C where they do not fill whole vectors, or lie apart.
void CopyRows(const ProductCall& call, const float* tile, int64_t tile_columns, int64_t rows, float* c,
              int64_t columns) {
  for (int64_t r = 0; r < rows; ++r, tile += tile_columns, c += call.c_row_stride) {
    if (call.c_column_stride == 1) {
      std::copy_n(tile, columns, c);
    } else {
      for (int64_t j = 0; j < columns; ++j) c[j * call.c_column_stride] = tile[j];
    }
  }
}

// R rows of one panel's columns, of its first vector alone where `vectors` is 1.
template <int64_t R, int64_t vectors>
HWY_INLINE void Tile(const ProductCall& call, const Corner& corner) {
  const D d;
  const int64_t lanes = Lanes();
  const float *HWY_RESTRICT a = corner.a, *HWY_RESTRICT panel = corner.panel;
  V sums[R][vectors];
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < call.depth; ++k, panel += kVectors * lanes, a += call.a_column_stride) {
    V b[vectors];
    for (int64_t v = 0; v < vectors; ++v) b[v] = hn::Load(d, panel + v * lanes);
    for (int64_t r = 0; r < R; ++r) {
      const V x = hn::Set(d, a[r * call.a_row_stride]);
      for (int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(x, b[v], sums[r][v]);
    }
  }
  if (corner.row_scales != nullptr) {
    for (int64_t r = 0; r < R; ++r) {
      const V scale = hn::Set(d, corner.row_scales[r]);
      for (int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::Mul(sums[r][v], scale);
    }
  }
  if (call.c_column_stride == 1 && (call.c_has_room || corner.columns == vectors * lanes)) {
    for (int64_t r = 0; r < R; ++r) {
      for (int64_t v = 0; v < vectors; ++v) hn::StoreU(sums[r][v], d, corner.c + r * call.c_row_stride + v * lanes);
    }
    return;
  }
  HWY_ALIGN float tile[R * vectors * hn::MaxLanes(D())];
  for (int64_t r = 0; r < R; ++r) {
    for (int64_t v = 0; v < vectors; ++v) hn::Store(sums[r][v], d, tile + (r * vectors + v) * lanes);
  }
  CopyRows(call, tile, vectors * lanes, R, corner.c, corner.columns);
}

// R rows, or as many as are left.
template <int64_t R>
HWY_INLINE void TileRows(const ProductCall& call, int64_t rows, const Corner& corner) {
  if constexpr (R > 1) {
    if (rows < R) return TileRows<R - 1>(call, rows, corner);
  }
  if (corner.columns <= Lanes()) {
    Tile<R, 1>(call, corner);
  } else {
    Tile<R, kVectors>(call, corner);
  }
}

void Multiply(const ProductCall& call) {
  const int64_t width = PanelColumns();
  for (int64_t j = 0; j < call.columns; j += width) {
    for (int64_t i = 0; i < call.rows; i += kRows) {
      TileRows<kRows>(call, call.rows - i,
                      {call.a + i * call.a_row_stride, call.panels + j * call.depth,
                       call.c + i * call.c_row_stride + j * call.c_column_stride,
                       call.row_scales == nullptr ? nullptr : call.row_scales + i, std::min(width, call.columns - j)});
    }
  }
}

}  // namespace

PanelProducts FindProducts() { return {PanelColumns(), Pack, Multiply}; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindProducts);

}  // namespace

PanelProducts FindPanelProducts() { return HWY_DYNAMIC_DISPATCH(FindProducts)(); }

}  // namespace pt::host
#endif
