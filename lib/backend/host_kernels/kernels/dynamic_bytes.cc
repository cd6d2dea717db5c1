#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/dynamic_bytes.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "lib/backend/host_kernels/kernels/dynamic_bytes.h"
#include "lib/backend/host_kernels/kernels/rest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

// Comparisons with NaN are false.
HWY_INLINE V Lower(V low, V x) { return hn::IfThenElse(hn::Lt(x, low), x, low); }
HWY_INLINE V Higher(V high, V x) { return hn::IfThenElse(hn::Gt(x, high), x, high); }

void WidenHere(const float* x, int64_t n, ByteRange& range) {
  constexpr int64_t kStreams = 4;  // sums that depend on each other would wait
  const D d;
  const int64_t lanes = Lanes();
  V low[kStreams], high[kStreams];
  for (int64_t s = 0; s < kStreams; ++s) {
    low[s] = hn::Set(d, range.low);
    high[s] = hn::Set(d, range.high);
  }
  int64_t i = 0;
  for (; i + kStreams * lanes <= n; i += kStreams * lanes) {
    for (int64_t s = 0; s < kStreams; ++s) {
      const V v = hn::LoadU(d, x + i + s * lanes);
      low[s] = Lower(low[s], v);
      high[s] = Higher(high[s], v);
    }
  }
  for (; i < n; i += lanes) {
    const V v = i + lanes <= n ? hn::LoadU(d, x + i) : LoadRest(d, x + i, n - i);
    low[0] = Lower(low[0], v);
    high[0] = Higher(high[0], v);
  }
  for (int64_t s = 1; s < kStreams; ++s) {
    low[0] = Lower(low[0], low[s]);
    high[0] = Higher(high[0], high[s]);
  }
  range.low = hn::GetLane(hn::MinOfLanes(d, low[0]));
  range.high = hn::GetLane(hn::MaxOfLanes(d, high[0]));
}

// In order: divided, rounded to the nearest (ties to even), moved, kept within 0..255. What is NaN becomes 0.
HWY_INLINE hn::Vec<hn::Rebind<uint8_t, D>> Quantised(V x, V scale, V zero) {
  const D d;
  const V moved = hn::Add(hn::Round(hn::Div(x, scale)), zero);
  const V number = hn::IfThenElseZero(hn::Eq(moved, moved), moved);
  const V within = hn::Min(hn::Max(number, hn::Zero(d)), hn::Set(d, 255.0F));
  return hn::DemoteTo(hn::Rebind<uint8_t, D>(), hn::ConvertTo(hn::Rebind<int32_t, D>(), within));
}

void QuantiseHere(const float* x, int64_t n, ByteSteps steps, uint8_t* y) {
  const D d;
  const hn::Rebind<uint8_t, D> bytes;
  if (steps.scale == 0) {
    std::fill_n(y, n, uint8_t{0});
    return;
  }
  const V scale = hn::Set(d, steps.scale), zero = hn::Set(d, steps.zero);
  int64_t i = 0;
  for (; i + Lanes() <= n; i += Lanes()) hn::StoreU(Quantised(hn::LoadU(d, x + i), scale, zero), bytes, y + i);
  if (i == n) return;
  HWY_ALIGN uint8_t rest[hn::MaxLanes(D())];
  hn::Store(Quantised(LoadRest(d, x + i, n - i), scale, zero), bytes, rest);
  std::copy_n(rest, n - i, y + i);
}

}  // namespace
}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {

HWY_EXPORT(WidenHere);
HWY_EXPORT(QuantiseHere);

void Widen(const float* x, int64_t n, ByteRange& range) { HWY_DYNAMIC_DISPATCH(WidenHere)(x, n, range); }

void QuantiseBytes(const float* x, int64_t n, ByteSteps steps, uint8_t* y) {
  HWY_DYNAMIC_DISPATCH(QuantiseHere)(x, n, steps, y);
}

// Where the scale is 0 all data are, and NaN counts as the lower end.
ByteSteps StepsOf(const ByteRange& range) {
  const float scale = (range.high - range.low) / 255.0F;
  const float zero = scale == 0 ? 0 : std::nearbyint(-range.low / scale);
  return {scale, zero >= 0 ? std::min(zero, 255.0F) : 0};
}

}  // namespace pt::host
#endif
