#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/entering.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <type_traits>

#include "lib/backend/host_kernels/kernels/entering.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <typename T, bool greater>
int64_t Find(const T* HWY_RESTRICT x, int64_t n, T held) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto bound = hn::Set(d, held);
  const auto may = [&](int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i);
    if constexpr (std::is_floating_point_v<T>) {  // what is NaN may, too
      return hn::Not(greater ? hn::Le(v, bound) : hn::Ge(v, bound));
    } else {
      return greater ? hn::Gt(v, bound) : hn::Lt(v, bound);
    }
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Or(may(i), may(i + lanes))))) break;
  }
  for (; i + lanes <= n; i += lanes) {
    const intptr_t first = hn::FindFirstTrue(d, may(i));
    if (first >= 0) return i + first;
  }
  while (i < n && (greater ? x[i] <= held : x[i] >= held)) ++i;
  return i;
}

}  // namespace

Entering<float> OfFloats() { return {Find<float, true>, Find<float, false>}; }
Entering<int32_t> OfInt32() { return {Find<int32_t, true>, Find<int32_t, false>}; }
Entering<int64_t> OfInt64() { return {Find<int64_t, true>, Find<int64_t, false>}; }

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(OfFloats);
HWY_EXPORT(OfInt32);
HWY_EXPORT(OfInt64);

}  // namespace

template <>
Entering<float> FindEntering() {
  return HWY_DYNAMIC_DISPATCH(OfFloats)();
}
template <>
Entering<int32_t> FindEntering() {
  return HWY_DYNAMIC_DISPATCH(OfInt32)();
}
template <>
Entering<int64_t> FindEntering() {
  return HWY_DYNAMIC_DISPATCH(OfInt64)();
}

}  // namespace pt::host
#endif
