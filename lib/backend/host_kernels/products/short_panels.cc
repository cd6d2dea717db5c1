// Products of bfloat16 by AVX512_BF16, which Highway 1.0 does not know: an instruction multiplies 16 pairs by 16 pairs
// and adds both products of each to a float32.
#include <hwy/base.h>
#if HWY_ARCH_X86
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "lib/backend/host_kernels/kernels/transpose.h"
#include "lib/backend/host_kernels/products/panels.h"

namespace pt::host {
namespace {

constexpr int64_t kPair = 2, kLanes = 16, kVectors = 2, kColumns = kVectors * kLanes;

int64_t PairsOf(int64_t depth) { return depth / kPair + depth % kPair; }

// Pairs of neighbours in a column lie side by side already: they move as one number of 32 bits.
void PackColumnPairs(const PackCall<Bfloat16>& call, const Bfloat16* b, int64_t columns, Bfloat16* to) {
  TransposeBlock(sizeof(Bfloat16[kPair]), b, call.column_stride / kPair, to, kColumns, PairsOf(call.depth), columns);
  for (int64_t k = 0; k < PairsOf(call.depth) && columns < kColumns; ++k) {
    std::fill_n(to + (k * kColumns + columns) * kPair, (kColumns - columns) * kPair, Bfloat16{});
  }
}

// Two rows, element by element.
template <bool adjacent>
HWY_INLINE void Interleave(const Bfloat16* HWY_RESTRICT first, const Bfloat16* HWY_RESTRICT second, int64_t step,
                           int64_t columns, Bfloat16* HWY_RESTRICT to) {
  for (int64_t j = 0; j < columns; ++j) {
    const Bfloat16 low = first[adjacent ? j : j * step], high = second[adjacent ? j : j * step];
    const uint32_t pair = low.bits | static_cast<uint32_t>(high.bits) << 16;  // x86 stores the low half first
    std::memcpy(static_cast<void*>(to + j * kPair), &pair, sizeof(pair));
  }
}

template <bool adjacent>
void PackRowPairs(const PackCall<Bfloat16>& call, const Bfloat16* b, int64_t columns, Bfloat16* to) {
  int64_t k = 0;
  for (; k + kPair <= call.depth; k += kPair, b += kPair * call.row_stride, to += kPair * kColumns) {
    if (columns == kColumns) {
      Interleave<adjacent>(b, b + call.row_stride, call.column_stride, kColumns, to);
    } else {
      Interleave<adjacent>(b, b + call.row_stride, call.column_stride, columns, to);
      std::fill(to + columns * kPair, to + kColumns * kPair, Bfloat16{});
    }
  }
  if (k == call.depth) return;
  std::fill_n(to, kColumns * kPair, Bfloat16{});
  for (int64_t j = 0; j < columns; ++j) to[j * kPair] = b[j * call.column_stride];
}

void Pack(const PackCall<Bfloat16>& call) {
  const bool aligned = reinterpret_cast<uintptr_t>(call.b) % sizeof(Bfloat16[kPair]) == 0;
  const bool pairs_lie_together =
      aligned && call.row_stride == 1 && call.column_stride % kPair == 0 && call.depth % kPair == 0;
  const auto pack =
      pairs_lie_together ? PackColumnPairs : (call.column_stride == 1 ? PackRowPairs<true> : PackRowPairs<false>);
  for (int64_t j = 0; j < call.columns; j += kColumns) {
    const int64_t columns = std::min(kColumns, call.columns - j);
    Bfloat16* to = call.panels + j * PairsOf(call.depth) * kPair;
    pack(call, call.b + j * call.column_stride, columns, to);
  }
}

}  // namespace
}  // namespace pt::host

#if HWY_ARCH_X86
HWY_PUSH_ATTRIBUTES("avx,avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
namespace pt::host {
namespace {

constexpr int64_t kRows = 8;  // of a tile: its sums and a row of the panel fill the registers

// Where a tile begins.
struct Corner {
  const Bfloat16* a;
  const Bfloat16* panel;
  const float* bias;
  int64_t c;  // into C
  const float* row_scales;
  int64_t columns;
};

// The pair of elements at x, or the first of them and zero.
template <bool both>
HWY_INLINE __m512bh Broadcast(const Bfloat16* x) {
  int32_t pair = 0;
  std::memcpy(&pair, x, both ? sizeof(Bfloat16[kPair]) : sizeof(Bfloat16));
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
}

// `next`: from a panel to the one beside it.
template <int64_t R, int64_t V, bool both>
HWY_INLINE void AddPair(const ProductCall<Bfloat16>& call, const Bfloat16* a, const Bfloat16* panel, int64_t next,
                        __m512 (&sums)[R][V]) {
  __m512bh b[V];
  for (int64_t v = 0; v < V; ++v) {
    b[v] = reinterpret_cast<__m512bh>(_mm512_load_si512(panel + v / kVectors * next + v % kVectors * kLanes * kPair));
  }
  for (int64_t r = 0; r < R; ++r) {
    const __m512bh x = Broadcast<both>(a + r * call.a_row_stride);
    for (int64_t v = 0; v < V; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], x, b[v]);
  }
}

HWY_INLINE __m512 Bounded(__m512 low, __m512 high, __m512 x) {
  const __m512 raised = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, low, _CMP_LT_OQ), low);
  return _mm512_mask_mov_ps(raised, _mm512_cmp_ps_mask(raised, high, _CMP_GT_OQ), high);
}

// A whole vector next to each other.
HWY_INLINE void StoreVector(const ProductCall<Bfloat16>& call, __m512 sums, int64_t at) {
  if (call.short_c != nullptr) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(call.short_c + at),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(sums)));
  } else {
    _mm512_storeu_ps(call.c + at, sums);
  }
}

// The first n lanes, next to each other or apart.
HWY_INLINE void StoreLanes(const ProductCall<Bfloat16>& call, __m512 sums, int64_t at, int64_t n) {
  alignas(64) float lanes[kLanes];
  _mm512_store_ps(lanes, sums);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t to = at + j * call.c_column_stride;
    if (call.short_c != nullptr) {
      call.short_c[to] = ToBfloat16(lanes[j]);
    } else {
      call.c[to] = lanes[j];
    }
  }
}

// R rows and V vectors of columns, of one panel or several.
template <int64_t R, int64_t V>
HWY_INLINE void Tile(const ProductCall<Bfloat16>& call, const Corner& corner) {
  __m512 sums[R][V];
  for (int64_t v = 0; v < V; ++v) {
    const __m512 first = corner.bias == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(corner.bias + v * kLanes);
    for (int64_t r = 0; r < R; ++r) sums[r][v] = first;
  }
  const Bfloat16 *a = corner.a, *panel = corner.panel;
  const int64_t next = PairsOf(call.depth) * kPair * kColumns;
  for (int64_t k = 0; k + kPair <= call.depth; k += kPair, a += kPair, panel += kPair * kColumns) {
    AddPair<R, V, true>(call, a, panel, next, sums);
  }
  if (call.depth % kPair != 0) AddPair<R, V, false>(call, a, panel, next, sums);
  for (int64_t r = 0; r < R && corner.row_scales != nullptr; ++r) {
    for (int64_t v = 0; v < V; ++v) sums[r][v] = _mm512_mul_ps(sums[r][v], _mm512_set1_ps(corner.row_scales[r]));
  }
  if (call.bounds) {
    const __m512 low = _mm512_set1_ps(call.bounds->low), high = _mm512_set1_ps(call.bounds->high);
    for (int64_t r = 0; r < R; ++r) {
      for (int64_t v = 0; v < V; ++v) sums[r][v] = Bounded(low, high, sums[r][v]);
    }
  }
  const bool whole = call.c_column_stride == 1 && (call.c_has_room || corner.columns == V * kLanes);
  for (int64_t v = 0; v < V; ++v) {
    for (int64_t r = 0; r < R; ++r) {
      const int64_t at = corner.c + r * call.c_row_stride + v * kLanes * call.c_column_stride;
      if (whole) {
        StoreVector(call, sums[r][v], at);
      } else {
        StoreLanes(call, sums[r][v], at, std::clamp<int64_t>(corner.columns - v * kLanes, 0, kLanes));
      }
    }
  }
}

// So few rows do not keep the arithmetic busy with one panel: sums that depend on each other would wait.
constexpr int64_t PanelsAtOnce(int64_t rows) { return rows <= 2 ? 4 : (rows <= 4 ? 2 : 1); }

// The columns from j on, as many as a tile of R rows takes; how many these are.
template <int64_t R>
int64_t TileAt(const ProductCall<Bfloat16>& call, int64_t i, int64_t j) {
  constexpr int64_t kMost = PanelsAtOnce(R) * kColumns;
  const int64_t left = call.columns - j;
  Corner corner{call.a + i * call.a_row_stride,
                call.panels + j * PairsOf(call.depth) * kPair,
                call.bias == nullptr ? nullptr : call.bias + j,
                i * call.c_row_stride + j * call.c_column_stride,
                call.row_scales == nullptr ? nullptr : call.row_scales + i,
                std::min(kColumns, left)};
  if (PanelsAtOnce(R) > 1 && left >= kMost) {
    corner.columns = kMost;
    Tile<R, PanelsAtOnce(R) * kVectors>(call, corner);
  } else if (corner.columns <= kLanes) {
    Tile<R, 1>(call, corner);
  } else {
    Tile<R, kVectors>(call, corner);
  }
  return corner.columns;
}

// All columns of the rows that are left, fewer than a tile has.
template <int64_t R>
void Rest(const ProductCall<Bfloat16>& call, int64_t i) {
  if constexpr (R > 1) {
    if (call.rows - i < R) return Rest<R - 1>(call, i);
  }
  for (int64_t j = 0; j < call.columns;) j += TileAt<R>(call, i, j);
}

void Multiply(const ProductCall<Bfloat16>& call) {
  const int64_t whole = call.rows / kRows * kRows;
  for (int64_t j = 0; j < call.columns && whole > 0; j += kColumns) {
    for (int64_t i = 0; i < whole; i += kRows) TileAt<kRows>(call, i, j);
  }
  if (whole < call.rows) Rest<kRows - 1>(call, whole);
}

}  // namespace
}  // namespace pt::host
HWY_POP_ATTRIBUTES
#endif

namespace pt::host {

template <>
PanelProducts<Bfloat16> FindPanelProducts() {
  PanelProducts<Bfloat16> products{kColumns, kPair, Pack, nullptr};
#if HWY_ARCH_X86
  if (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vl")) products.multiply = Multiply;
#endif
  return products;
}

}  // namespace pt::host
