// Functions of float vectors, right over the whole range: NaN stays NaN, infinities give the limits. Included once for
// every instruction set.
#if defined(PT_HOST_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT_HOST_MATH_INL_H
#undef PT_HOST_MATH_INL_H
#else
#define PT_HOST_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {

// Highway's is defined up to 104, and gives 0 for NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V ExpOf(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V most = hn::Set(d, 88.722839F);  // exp of the next float is infinite
  const V y = hn::Exp(d, hn::Min(x, most));
  const V limited = hn::IfThenElse(hn::Gt(x, most), hn::Set(d, std::numeric_limits<float>::infinity()), y);
  return hn::IfThenElse(hn::IsNaN(x), x, limited);
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
