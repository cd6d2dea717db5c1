// float32 from bfloat16 and back, in vectors: to the nearest, ties to even, and what is NaN stays so. Highway 1.0
// truncates. Included once for every instruction set.
#if defined(PT_HOST_BFLOAT16_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT_HOST_BFLOAT16_INL_H
#undef PT_HOST_BFLOAT16_INL_H
#else
#define PT_HOST_BFLOAT16_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "partitiontuner/graph/half.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {

static_assert(sizeof(Bfloat16) == sizeof(uint16_t));

template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadU(D d, const Bfloat16* x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<uint16_t, D> narrow;
  const hn::RebindToUnsigned<D> wide;
  const auto bits = hn::PromoteTo(wide, hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(x)));
  return hn::BitCast(d, hn::ShiftLeft<16>(bits));
}

template <class D>
HWY_INLINE void StoreU(hwy::HWY_NAMESPACE::Vec<D> v, D /*d*/, Bfloat16* y) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<uint16_t, D> narrow;
  const hn::RebindToUnsigned<D> wide;
  const auto bits = hn::BitCast(wide, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(wide, 0x7FFF)));
  const auto quiet = hn::Or(bits, hn::Set(wide, 0x400000));
  const auto chosen = hn::IfThenElse(hn::RebindMask(wide, hn::IsNaN(v)), quiet, rounded);
  hn::StoreU(hn::TruncateTo(narrow, hn::ShiftRight<16>(chosen)), narrow, reinterpret_cast<uint16_t*>(y));
}

// The first n elements at x, followed by zeros.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadRest(D d, const Bfloat16* x, int64_t n) {
  Bfloat16 rest[hwy::HWY_NAMESPACE::MaxLanes(D())] = {};
  std::memcpy(rest, x, static_cast<size_t>(n) * sizeof(Bfloat16));
  return LoadU(d, rest);
}

// The first n lanes of v to y.
template <class D>
HWY_INLINE void StoreRest(D d, hwy::HWY_NAMESPACE::Vec<D> v, Bfloat16* y, int64_t n) {
  Bfloat16 rest[hwy::HWY_NAMESPACE::MaxLanes(D())];
  StoreU(v, d, rest);
  std::memcpy(y, rest, static_cast<size_t>(n) * sizeof(Bfloat16));
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
