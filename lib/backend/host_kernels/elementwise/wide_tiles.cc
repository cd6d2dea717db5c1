#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/elementwise/wide_tiles.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "lib/backend/host_kernels/elementwise/wide_tiles.h"
#include "lib/backend/host_kernels/kernels/wide_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As many elements as a vector of doubles has.
template <class F>
HWY_INLINE void MapVector(const float* a, const float* b, float* y) {
  const WideD d;
  const NarrowD narrow;
  NarrowV result;
  const NarrowV x = hn::LoadU(narrow, a), z = hn::LoadU(narrow, b);
  const WideM usual = F::Of(hn::PromoteTo(d, x), hn::PromoteTo(d, z), result);
  if (HWY_LIKELY(hn::AllTrue(d, usual))) {
    hn::StoreU(result, narrow, y);
    return;
  }
  HWY_ALIGN float left[hn::MaxLanes(NarrowD())], right[hn::MaxLanes(NarrowD())];
  hn::Store(x, narrow, left);
  hn::Store(z, narrow, right);
  for (size_t k = 0; k < hn::Lanes(narrow); ++k) y[k] = F::Plain(left[k], right[k]);
}

// Functions of one operand have it as their second, too.
template <class F>
void Map(const TileCall& call) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(WideD()));
  const auto *a = static_cast<const float*>(call.in[0]), *b = static_cast<const float*>(call.in[1]);
  auto* y = static_cast<float*>(call.out);
  int64_t i = 0;
  for (; i + lanes <= call.n; i += lanes) MapVector<F>(a + i, b + i, y + i);
  if (i == call.n) return;
  float rest_a[hn::MaxLanes(WideD())], rest_b[hn::MaxLanes(WideD())];
  std::fill_n(rest_a, lanes, 1.0F);
  std::fill_n(rest_b, lanes, 1.0F);
  const size_t bytes = static_cast<size_t>(call.n - i) * sizeof(float);
  std::memcpy(rest_a, a + i, bytes);
  std::memcpy(rest_b, b + i, bytes);
  MapVector<F>(rest_a, rest_b, rest_a);
  std::memcpy(y + i, rest_a, bytes);
}

}  // namespace

TileFunction Find(Function function) {
  switch (function) {
    case Function::kAcos:
      return Map<WideAcos>;
    case Function::kAcosh:
      return Map<WideAcosh>;
    case Function::kAsin:
      return Map<WideAsin>;
    case Function::kAsinh:
      return Map<WideAsinh>;
    case Function::kAtan:
      return Map<WideAtan>;
    case Function::kAtanh:
      return Map<WideAtanh>;
    case Function::kCos:
      return Map<WideSine<true>>;
    case Function::kCosh:
      return Map<WideCosh>;
    case Function::kSin:
      return Map<WideSine<false>>;
    case Function::kSinh:
      return Map<WideSinh>;
    case Function::kTan:
      return Map<WideTangent>;
    case Function::kPow:
      return Map<WidePower>;
    case Function::kFloorMod:
      return Map<WideRemainder<true>>;
    case Function::kTruncatedMod:
      return Map<WideRemainder<false>>;
    default:
      return nullptr;
  }
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(Find);

}  // namespace

TileFunction FindWideTileFunction(Function function) { return HWY_DYNAMIC_DISPATCH(Find)(function); }

}  // namespace pt::host
#endif
