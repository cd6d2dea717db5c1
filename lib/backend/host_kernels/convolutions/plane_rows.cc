#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/convolutions/plane_rows.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>

#include "lib/backend/host_kernels/convolutions/plane_rows.h"
#include "lib/backend/host_kernels/kernels/bounded-inl.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kRegisters = hn::MaxLanes(D()) >= 16 ? 32 : 16;
constexpr int64_t kMostVectors = 6;  // of a row at once: enough to keep the arithmetic busy

int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

// Sums, as many vectors of the input and a weight fill the registers.
constexpr int64_t VectorsAtOnce(int64_t filters) {
  return std::clamp<int64_t>((kRegisters - 1) / (filters + 1), 1, kMostVectors);
}

// T vectors of the row from `at` on, the last of them perhaps in part.
template <int64_t F, int64_t T>
HWY_INLINE void Tile(const PlaneRow& call, int64_t at) {
  const D d;
  const int64_t lanes = Lanes();
  V sums[F][T];
  for (int64_t f = 0; f < F; ++f) {
    for (int64_t t = 0; t < T; ++t) sums[f][t] = hn::Set(d, call.bias[f]);
  }
  const float* weights = call.weights;
  for (int64_t c = 0; c < call.channels; ++c) {
    for (int64_t r = 0; r < call.kernel_rows; ++r) {
      const float* row = call.x + c * call.channel_stride + r * call.row_stride + at;
      for (int64_t k = 0; k < call.kernel_columns; ++k, weights += F) {
        V in[T];
        for (int64_t t = 0; t < T; ++t) in[t] = hn::LoadU(d, row + call.offsets[k] + t * lanes);
        for (int64_t f = 0; f < F; ++f) {
          const V weight = hn::Set(d, weights[f]);
          for (int64_t t = 0; t < T; ++t) sums[f][t] = hn::MulAdd(in[t], weight, sums[f][t]);
        }
      }
    }
  }
  if (call.bounds) {
    const V low = hn::Set(d, call.bounds->low), high = hn::Set(d, call.bounds->high);
    for (int64_t f = 0; f < F; ++f) {
      for (int64_t t = 0; t < T; ++t) sums[f][t] = Bounded(low, high, sums[f][t]);
    }
  }
  for (int64_t f = 0; f < F; ++f) {
    for (int64_t t = 0; t < T; ++t) {
      float* y = call.y + f * call.filter_stride + at + t * lanes;
      const int64_t left = call.columns - at - t * lanes;
      if (left >= lanes) {
        hn::StoreU(sums[f][t], d, y);
      } else {
        StoreRest(d, sums[f][t], y, left);
      }
    }
  }
}

// What is left of the row: as many vectors as that takes.
template <int64_t F, int64_t T>
void Rest(const PlaneRow& call, int64_t at) {
  if constexpr (T > 1) {
    if (call.columns - at <= (T - 1) * Lanes()) return Rest<F, T - 1>(call, at);
  }
  Tile<F, T>(call, at);
}

template <int64_t F>
void RowOf(const PlaneRow& call) {
  constexpr int64_t kVectors = VectorsAtOnce(F);
  int64_t at = 0;
  for (; at + kVectors * Lanes() <= call.columns; at += kVectors * Lanes()) Tile<F, kVectors>(call, at);
  if (at < call.columns) Rest<F, kVectors>(call, at);
}

void Compute(const PlaneRow& call) {
  switch (call.filters) {
    case 8:
      return RowOf<8>(call);
    case 4:
      return RowOf<4>(call);
    case 2:
      return RowOf<2>(call);
    default:
      return RowOf<1>(call);
  }
}

}  // namespace

// The last vector begins within the row.
PlaneRows FindOnPlanes() { return {Lanes(), Compute}; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindOnPlanes);

}  // namespace

PlaneRows FindPlaneRows() { return HWY_DYNAMIC_DISPATCH(FindOnPlanes)(); }

}  // namespace pt::host
#endif
