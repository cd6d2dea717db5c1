#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/convolutions/grouped_rows.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>

#include "lib/backend/host_kernels/convolutions/grouped_rows.h"
#include "lib/backend/host_kernels/kernels/bounded-inl.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Pixels whose sums lie in registers beside a row of weights and the input.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3  // sixteen registers
constexpr int64_t kLongTile = 10;
#else
constexpr int64_t kLongTile = 14;
#endif

HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

// What the lanes multiply of a pixel: the same channel of it.
struct OneGroup {
  OneGroup(const GroupedRow&, int64_t) {}
  HWY_INLINE V Load(const float* x) const { return hn::Set(D(), *x); }
  static int64_t Offset(const GroupedRow& call, int64_t channel) {
    return channel / Lanes() * call.padded_pixels * Lanes() + channel % Lanes();
  }
};

// Each the same channel of its own group.
struct SeveralGroups {
  SeveralGroups(const GroupedRow& call, int64_t channel)
      : lanes(hn::SetTableIndices(D(), call.channel_of_lane + channel * Lanes())) {}
  HWY_INLINE V Load(const float* x) const { return hn::TableLookupLanes(hn::LoadU(D(), x), lanes); }
  static int64_t Offset(const GroupedRow&, int64_t) { return 0; }
  decltype(hn::SetTableIndices(D(), static_cast<const int32_t*>(nullptr))) lanes;
};

// Loads from here are not moved out of the loop over channels, where there are no registers to keep what they load.
HWY_INLINE const float* Anew(const float* x) {
#if HWY_COMPILER_GCC || HWY_COMPILER_CLANG
  asm("" : "+r"(x));
#endif
  return x;
}

// Adds one channel of one row of the kernel to T pixels. K and S, kernel columns and stride, are known unless 0: each
// element of the input is then loaded once for all pixels that need it.
template <int64_t T, int64_t K, int64_t S, class Source>
HWY_INLINE void AddChannel(const GroupedRow& call, const float* x, const float* weights, const Source& source,
                           V (&sums)[T]) {
  const D d;
  const int64_t lanes = Lanes();
  if constexpr (K > 0) {
    V w[K];
    for (int64_t kx = 0; kx < K; ++kx) w[kx] = hn::LoadU(d, weights + kx * lanes);
#pragma GCC unroll 32  // else the sums are kept in memory, to be found by index
    for (int64_t i = 0; i < (T - 1) * S + K; ++i) {
      const V in = source.Load(x + i * lanes);
      for (int64_t kx = 0; kx < K; ++kx) {
        const int64_t t = (i - kx) / S;
        if (i >= kx && (i - kx) % S == 0 && t < T) sums[t] = hn::MulAdd(in, w[kx], sums[t]);
      }
    }
  } else {
    for (int64_t kx = 0; kx < call.kernel_columns; ++kx) {
      const V w = hn::LoadU(d, weights + kx * lanes);
      const float* from = x + kx * call.dilation * lanes;
#pragma GCC unroll 32
      for (int64_t t = 0; t < T; ++t) {
        sums[t] = hn::MulAdd(source.Load(from + t * call.stride * lanes), w, sums[t]);
      }
    }
  }
}

template <int64_t T>
HWY_INLINE void Leave(const GroupedRow& call, float* y, V (&sums)[T]) {
  const D d;
  if (call.bounds) {
    const V low = hn::Set(d, call.bounds->low), high = hn::Set(d, call.bounds->high);
    for (int64_t t = 0; t < T; ++t) sums[t] = Bounded(low, high, sums[t]);
  }
  if (call.out_channels == Lanes()) {
    for (int64_t t = 0; t < T; ++t) hn::StoreU(sums[t], d, y + t * call.out_pixel_stride);
  } else {
    for (int64_t t = 0; t < T; ++t) StoreRest(d, sums[t], y + t * call.out_pixel_stride, call.out_channels);
  }
}

template <int64_t T, int64_t K, int64_t S, class Source>
HWY_INLINE void Tile(const GroupedRow& call, int64_t at) {
  const D d;
  V sums[T];
  const V first = call.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, call.bias);
  for (int64_t t = 0; t < T; ++t) sums[t] = first;
  const float* weights = call.weights;
  const int64_t channel_weights = call.kernel_columns * Lanes();
  for (int64_t r = 0; r < call.rows_inside; ++r) {
    const float* x = call.rows[r] + at * call.stride * Lanes();
    for (int64_t c = 0; c < call.group_channels; ++c) {
      AddChannel<T, K, S>(call, Anew(x + Source::Offset(call, c)), weights, Source(call, c), sums);
      weights += channel_weights;
    }
  }
  Leave<T>(call, call.y + at * call.out_pixel_stride, sums);
}

// The last tile ends where the row does, over some pixels of the one before it.
template <int64_t T, int64_t K, int64_t S, class Source>
void RowInTiles(const GroupedRow& call) {
  for (int64_t at = 0; at < call.out_pixels; at += T) {
    Tile<T, K, S, Source>(call, std::min(at, call.out_pixels - T));
  }
}

// How long a row takes in tiles of this many pixels. Sums of a pixel wait for each other, so few take as long as eight.
int64_t TimeIn(int64_t tile, int64_t pixels) { return (pixels + tile - 1) / tile * std::max<int64_t>(tile, 8); }

template <int64_t K, int64_t S, class Source>
void LongRow(const GroupedRow& call) {
  const int64_t n = call.out_pixels;
  const int64_t time8 = n < 8 ? INT64_MAX : TimeIn(8, n);
  if (n >= kLongTile && TimeIn(kLongTile, n) <= std::min(time8, TimeIn(7, n))) {
    return RowInTiles<kLongTile, K, S, Source>(call);
  }
  if (time8 <= TimeIn(7, n)) return RowInTiles<8, K, S, Source>(call);
  RowInTiles<7, K, S, Source>(call);
}

template <class Source>
void AnyRow(const GroupedRow& call) {
  if (call.out_pixels >= 8) return RowInTiles<8, 0, 0, Source>(call);
  if (call.out_pixels >= 4) return RowInTiles<4, 0, 0, Source>(call);
  if (call.out_pixels >= 2) return RowInTiles<2, 0, 0, Source>(call);
  RowInTiles<1, 0, 0, Source>(call);
}

template <class Source>
void Row(const GroupedRow& call) {
  const bool known = call.kernel_columns == 3 && call.dilation == 1 && call.out_pixels >= 7;
  if (known && call.stride == 1) return LongRow<3, 1, Source>(call);
  if (known && call.stride == 2) return LongRow<3, 2, Source>(call);
  AnyRow<Source>(call);
}

void Compute(const GroupedRow& call) {
  return call.channel_of_lane == nullptr ? Row<OneGroup>(call) : Row<SeveralGroups>(call);
}

void Pad(const PaddedRow& call) {
  const D d;
  const int64_t lanes = Lanes(), pad = std::min(call.pad, call.padded_pixels),
                inside = std::min(call.pixels, call.padded_pixels - pad);
  float* to = call.to;
  for (int64_t c = 0; c < call.channels; c += lanes, to += call.padded_pixels * lanes) {
    const float* x = call.x + c / call.block * call.block_stride + c % call.block;
    const int64_t n = call.channels - c;
    int64_t i = 0;
    for (; i < pad; ++i) hn::StoreU(hn::Zero(d), d, to + i * lanes);
    if (n >= lanes) {
      for (; i < pad + inside; ++i, x += call.pixel_stride) hn::StoreU(hn::LoadU(d, x), d, to + i * lanes);
    } else {
      for (; i < pad + inside; ++i, x += call.pixel_stride) hn::StoreU(LoadRest(d, x, n), d, to + i * lanes);
    }
    for (; i < call.padded_pixels; ++i) hn::StoreU(hn::Zero(d), d, to + i * lanes);
  }
}

}  // namespace

GroupedRows FindRowsOfGroups() { return {Lanes(), Pad, Compute}; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindRowsOfGroups);

}  // namespace

GroupedRows FindGroupedRows() { return HWY_DYNAMIC_DISPATCH(FindRowsOfGroups)(); }

}  // namespace pt::host
#endif
