// The last elements of a stretch, fewer than a vector has lanes. Included once for every instruction set.
#if defined(PT_HOST_REST_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT_HOST_REST_INL_H
#undef PT_HOST_REST_INL_H
#else
#define PT_HOST_REST_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {

// Whether loads and stores of some lanes leave memory beside them alone.
#if HWY_TARGET <= HWY_AVX2  // and better ones of x86
#define PT_HAS_MASKED_MEMORY 1
#else
#define PT_HAS_MASKED_MEMORY 0
#endif

// The first n elements at x, followed by `fill`.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadRest(D d, const float* x, int64_t n, float fill) {
  namespace hn = hwy::HWY_NAMESPACE;
#if PT_HAS_MASKED_MEMORY
  const auto some = hn::FirstN(d, static_cast<size_t>(n));
  return hn::IfThenElse(some, hn::MaskedLoad(some, d, x), hn::Set(d, fill));
#else
  HWY_ALIGN float rest[hn::MaxLanes(D())];
  hn::Store(hn::Set(d, fill), d, rest);
  std::memcpy(rest, x, static_cast<size_t>(n) * sizeof(float));
  return hn::Load(d, rest);
#endif
}

// The first n elements at x, followed by zeros.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadRest(D d, const float* x, int64_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
#if PT_HAS_MASKED_MEMORY
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, x);
#else
  return LoadRest(d, x, n, 0);
#endif
}

// The first n lanes of v to y.
template <class D>
HWY_INLINE void StoreRest(D d, hwy::HWY_NAMESPACE::Vec<D> v, float* y, int64_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
#if PT_HAS_MASKED_MEMORY
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, y);
#else
  HWY_ALIGN float rest[hn::MaxLanes(D())];
  hn::Store(v, d, rest);
  std::memcpy(y, rest, static_cast<size_t>(n) * sizeof(float));
#endif
}

#undef PT_HAS_MASKED_MEMORY

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
