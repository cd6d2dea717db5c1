#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/kernels/rotate.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include "lib/backend/host_kernels/kernels/rotate.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// left and right become what they are rotated into.
HWY_INLINE void Rotate(const RotateCall& call, int64_t i, V& left, V& right) {
  const D d;
  const V cosine = hn::LoadU(d, call.cosines + i), sine = hn::LoadU(d, call.sines + i), held = left;
  left = hn::Sub(hn::Mul(cosine, held), hn::Mul(sine, right));
  right = hn::Add(hn::Mul(sine, held), hn::Mul(cosine, right));
}

}  // namespace

void RotatePairs(const RotateCall& call) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t step = call.interleaved ? 2 : 1, apart = call.interleaved ? 1 : call.pairs;
  int64_t i = 0;
  for (; i + lanes <= call.pairs; i += lanes) {
    V left, right;
    if (call.interleaved) {
      hn::LoadInterleaved2(d, call.x + 2 * i, left, right);
      Rotate(call, i, left, right);
      hn::StoreInterleaved2(left, right, d, call.y + 2 * i);
    } else {
      left = hn::LoadU(d, call.x + i);
      right = hn::LoadU(d, call.x + i + apart);
      Rotate(call, i, left, right);
      hn::StoreU(left, d, call.y + i);
      hn::StoreU(right, d, call.y + i + apart);
    }
  }
  for (; i < call.pairs; ++i) {
    const float left = call.x[i * step], right = call.x[i * step + apart];
    call.y[i * step] = call.cosines[i] * left - call.sines[i] * right;
    call.y[i * step + apart] = call.sines[i] * left + call.cosines[i] * right;
  }
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(RotatePairs);

}  // namespace

void RotatePairs(const RotateCall& call) { HWY_DYNAMIC_DISPATCH(RotatePairs)(call); }

}  // namespace pt::host
#endif
