#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/channel_moments.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include "lib/backend/host_kernels/kernels/channel_moments.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using WideV = hn::Vec<Wide>;
using Half = hn::Rebind<float, Wide>;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

static_assert(hn::MaxLanes(Wide()) <= kSumRoom);

constexpr int64_t kVectorsTogether = 4;  // of channels at once: their sums stay in registers

// N vectors of channels from `first` on; of the last one `rest` channels where that is not 0.
template <int64_t N, bool kRest>
HWY_INLINE void AddVectors(const DistancesCall& call, int64_t first, int64_t rest) {
  const Wide d;
  const Half half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto load = [&](const float* at)
                        HWY_ATTR { return hn::PromoteTo(d, kRest ? LoadRest(half, at, rest) : hn::LoadU(half, at)); };
  WideV pivots[N], sums[N], squares[N];
  for (int64_t v = 0; v < N; ++v) {
    pivots[v] = load(call.pivots + first + v * lanes);
    sums[v] = hn::LoadU(d, call.sums + first + v * lanes);
    squares[v] = hn::LoadU(d, call.squares + first + v * lanes);
  }
  const float* HWY_RESTRICT x = call.x + first;
  for (int64_t p = 0; p < call.run.pixels; ++p, x += call.run.x_stride) {
    for (int64_t v = 0; v < N; ++v) {
      const WideV distance = hn::Sub(load(x + v * lanes), pivots[v]);
      sums[v] = hn::Add(sums[v], distance);
      squares[v] = hn::MulAdd(distance, distance, squares[v]);
    }
  }
  for (int64_t v = 0; v < N; ++v) {
    hn::StoreU(sums[v], d, call.sums + first + v * lanes);
    hn::StoreU(squares[v], d, call.squares + first + v * lanes);
  }
}

template <bool kRest>
HWY_INLINE void CentreVector(const CentreCall& call, int64_t first, int64_t rest) {
  const D d;
  const auto load = [&](const float* at) HWY_ATTR { return kRest ? LoadRest(d, at, rest) : hn::LoadU(d, at); };
  const V mean = load(call.means + first), factor = load(call.factors + first), bias = load(call.biases + first);
  const float* x = call.x + first;
  float* y = call.y + first;
  for (int64_t p = 0; p < call.run.pixels; ++p, x += call.run.x_stride, y += call.run.y_stride) {
    const V centred = hn::MulAdd(hn::Sub(load(x), mean), factor, bias);
    if constexpr (kRest) {
      StoreRest(d, centred, y, rest);
    } else {
      hn::StoreU(centred, d, y);
    }
  }
}

}  // namespace

void AddPixels(const DistancesCall& call) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  int64_t c = 0;
  for (; c + kVectorsTogether * lanes <= call.run.channels; c += kVectorsTogether * lanes)
    AddVectors<kVectorsTogether, false>(call, c, 0);
  for (; c + lanes <= call.run.channels; c += lanes) AddVectors<1, false>(call, c, 0);
  if (c < call.run.channels) AddVectors<1, true>(call, c, call.run.channels - c);
}

void CentrePixels(const CentreCall& call) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  int64_t c = 0;
  for (; c + lanes <= call.run.channels; c += lanes) CentreVector<false>(call, c, 0);
  if (c < call.run.channels) CentreVector<true>(call, c, call.run.channels - c);
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(AddPixels);
HWY_EXPORT(CentrePixels);

}  // namespace

void AddDistances(const DistancesCall& call) { HWY_DYNAMIC_DISPATCH(AddPixels)(call); }
void CentreChannels(const CentreCall& call) { HWY_DYNAMIC_DISPATCH(CentrePixels)(call); }

}  // namespace pt::host
#endif
