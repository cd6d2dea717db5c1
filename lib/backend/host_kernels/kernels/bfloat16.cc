#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/bfloat16.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include "lib/backend/host_kernels/kernels/bfloat16-inl.h"
#include "lib/backend/host_kernels/kernels/bfloat16.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void Widen(const Bfloat16* x, float* y, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(LoadU(d, x + i), d, y + i);
  for (; i < n; ++i) y[i] = ToFloat(x[i]);
}

void Narrow(const float* x, Bfloat16* y, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) StoreU(hn::LoadU(d, x + i), d, y + i);
  for (; i < n; ++i) y[i] = ToBfloat16(x[i]);
}

}  // namespace

Bfloat16Conversions FindConversions() { return {Widen, Narrow}; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(FindConversions);

}  // namespace

Bfloat16Conversions FindBfloat16Conversions() { return HWY_DYNAMIC_DISPATCH(FindConversions)(); }

}  // namespace pt::host
#endif
