#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/convolutions/depthwise_rows.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>

#include "lib/backend/host_kernels/convolutions/depthwise_rows.h"
#include "lib/backend/host_kernels/kernels/bfloat16-inl.h"
#include "lib/backend/host_kernels/kernels/bounded-inl.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kTile = 7;  // pixels: divides the widths of most networks

int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

// Pixels from `at` on, whose windows see the input's pixels from `begin` on, those before `end` of them.
struct Place {
  int64_t at = 0;
  int64_t from = 0;            // the input's pixel under the first element of the first window; may be negative
  int64_t begin = 0, end = 0;  // of the window's positions, those within the input
};

// In a register: GCC loads a vector anew for each of its uses, and loads are what these loops wait for.
HWY_INLINE V Kept(V v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// A block's channels of one pixel: as many as there are lanes, or the first of them alone.
struct WholeBlock {
  HWY_INLINE V Load(const float* x) const { return hn::LoadU(D(), x); }
  HWY_INLINE V Load(const Bfloat16* x) const { return LoadU(D(), x); }
  HWY_INLINE void Store(V v, float* y) const { hn::StoreU(v, D(), y); }
  HWY_INLINE void Store(V v, Bfloat16* y) const { StoreU(v, D(), y); }
};
struct PartOfBlock {
  int64_t channels;
  template <typename T>
  HWY_INLINE V Load(const T* x) const {
    return LoadRest(D(), x, channels);
  }
  template <typename T>
  HWY_INLINE void Store(V v, T* y) const {
    StoreRest(D(), v, y, channels);
  }
};

// Adds one row of the kernel. K and S, kernel columns and stride, are known unless 0: each element of the input is then
// loaded once for all pixels that need it.
template <int64_t T, int64_t K, int64_t S, bool inside, class Block, typename E>
HWY_INLINE void AddRow(const DepthwiseRow<E>& call, const Place& place, const E* x, const float* weights,
                       const Block& block, V (&sums)[T]) {
  const D d;
  const int64_t lanes = Lanes(), step = call.in_pixel_stride;
  if constexpr (K > 0) {
    V w[K];
    for (int64_t kx = 0; kx < K; ++kx) w[kx] = hn::LoadU(d, weights + kx * lanes);
#pragma GCC unroll 32  // else the sums are kept in memory, to be found by index
    for (int64_t i = 0; i < (T - 1) * S + K; ++i) {
      if (!inside && (i < place.begin || i >= place.end)) continue;
      const V in = Kept(block.Load(x + i * step));
      for (int64_t kx = 0; kx < K; ++kx) {
        const int64_t t = (i - kx) / S;
        if (i >= kx && (i - kx) % S == 0 && t < T) sums[t] = hn::MulAdd(in, w[kx], sums[t]);
      }
    }
  } else {
    for (int64_t kx = 0; kx < call.kernel_columns; ++kx) {
      const V w = hn::LoadU(d, weights + kx * lanes);
      for (int64_t t = 0; t < T; ++t) {
        const int64_t i = t * call.stride + kx * call.dilation;
        if (!inside && (i < place.begin || i >= place.end)) continue;
        sums[t] = hn::MulAdd(block.Load(x + i * step), w, sums[t]);
      }
    }
  }
}

// T pixels of one block of channels from c on.
template <int64_t T, int64_t K, int64_t S, bool inside, class Block, typename E>
HWY_INLINE void Tile(const DepthwiseRow<E>& call, const Place& place, int64_t c, const Block& block) {
  const D d;
  const int64_t lanes = Lanes();
  const float* weights = call.weights + c / lanes * call.weights_stride;
  const int64_t row_weights = call.kernel_columns * lanes;
  V sums[T];
  const V first = call.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, call.bias + c);
  for (int64_t t = 0; t < T; ++t) sums[t] = first;
  for (int64_t r = 0; r < call.rows_inside; ++r) {
    const E* x = call.rows[r] + place.from * call.in_pixel_stride + c;
    AddRow<T, K, S, inside>(call, place, x, weights + r * row_weights, block, sums);
  }
  if (call.bounds) {
    const V low = hn::Set(d, call.bounds->low), high = hn::Set(d, call.bounds->high);
    for (int64_t t = 0; t < T; ++t) sums[t] = Bounded(low, high, sums[t]);
  }
  E* y = call.y + place.at * call.out_pixel_stride + c;
  for (int64_t t = 0; t < T; ++t) block.Store(sums[t], y + t * call.out_pixel_stride);
}

template <int64_t T, int64_t K, int64_t S, bool inside, typename E>
HWY_INLINE void Blocks(const DepthwiseRow<E>& call, const Place& place) {
  const int64_t lanes = Lanes();
  int64_t c = 0;
  for (; c + lanes <= call.channels; c += lanes) Tile<T, K, S, inside>(call, place, c, WholeBlock());
  if (c < call.channels) Tile<T, K, S, inside>(call, place, c, PartOfBlock{call.channels - c});
}

// All channels of T pixels. Inlined, its code would stand there once for each call.
template <int64_t T, int64_t K, int64_t S, typename E>
HWY_NOINLINE void Pixels(const DepthwiseRow<E>& call, int64_t at) {
  const int64_t from = at * call.stride - call.pad,
                last = (T - 1) * call.stride + (call.kernel_columns - 1) * call.dilation;
  const Place place{at, from, -from, call.in_pixels - from};
  if (place.begin <= 0 && place.end > last) {
    Blocks<T, K, S, true>(call, place);
  } else {
    Blocks<T, K, S, false>(call, place);
  }
}

// The pixels that are left, fewer than a tile has. A tile that reaches back computes some pixels twice: a kernel for
// every number of pixels takes minutes to compile and megabytes.
template <int64_t K, int64_t S, typename E>
void Rest(const DepthwiseRow<E>& call, int64_t at) {
  const auto left = [&] { return call.out_pixels - at; };
  if (left() > 4 && call.out_pixels >= kTile) return Pixels<kTile, K, S>(call, call.out_pixels - kTile);
  if (left() == 3 && call.out_pixels >= 4) return Pixels<4, K, S>(call, call.out_pixels - 4);
  if (left() >= 4) {
    Pixels<4, K, S>(call, at);
    at += 4;
  }
  if (left() >= 2) {
    Pixels<2, K, S>(call, at);
    at += 2;
  }
  if (left() > 0) Pixels<1, K, S>(call, at);
}

template <int64_t K, int64_t S, typename E>
void RowOf(const DepthwiseRow<E>& call) {
  int64_t at = 0;
  for (; at + kTile <= call.out_pixels; at += kTile) Pixels<kTile, K, S>(call, at);
  Rest<K, S>(call, at);
}

template <typename E>
void Compute(const DepthwiseRow<E>& call) {
  const int64_t columns = call.dilation == 1 ? call.kernel_columns : 0;
  if (columns == 3 && call.stride == 1) return RowOf<3, 1>(call);
  if (columns == 3 && call.stride == 2) return RowOf<3, 2>(call);
  if (columns == 5 && call.stride == 1) return RowOf<5, 1>(call);
  if (columns == 5 && call.stride == 2) return RowOf<5, 2>(call);
  if (columns == 7 && call.stride == 1) return RowOf<7, 1>(call);
  if (columns == 7 && call.stride == 2) return RowOf<7, 2>(call);
  RowOf<0, 0>(call);
}

}  // namespace

DepthwiseRows<float> FindRows() { return {Lanes(), Compute<float>}; }
DepthwiseRows<Bfloat16> FindShortRows() { return {Lanes(), Compute<Bfloat16>}; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindRows);
HWY_EXPORT(FindShortRows);

}  // namespace

template <>
DepthwiseRows<float> FindDepthwiseRows() {
  return HWY_DYNAMIC_DISPATCH(FindRows)();
}
template <>
DepthwiseRows<Bfloat16> FindDepthwiseRows() {
  return HWY_DYNAMIC_DISPATCH(FindShortRows)();
}

}  // namespace pt::host
#endif
