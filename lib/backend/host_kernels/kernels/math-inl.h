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

#include "lib/backend/host/vector_math-inl.h"

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

// Highway's is defined for positive finite numbers.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V LogOf(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V zero = hn::Zero(d), infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const V y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::Log(d, x));
  const V upper = hn::IfThenElse(hn::Eq(x, infinity), x, y);
  const auto undefined = hn::Or(hn::Lt(x, zero), hn::IsNaN(x));
  return hn::IfThenElse(undefined, hn::Set(d, std::numeric_limits<float>::quiet_NaN()), upper);
}

// Of the falling side, so that nothing overflows and small results keep their digits.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V SigmoidOf(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F), e = ExpOf(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V SoftplusOf(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V zero = hn::Zero(d);
  const V y = hn::Add(hn::Max(x, zero), hn::Log1p(d, ExpOf(d, hn::Neg(hn::Abs(x)))));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// Up to 1, x times a polynomial in x²; beyond, 1 - exp(-x²) times a polynomial in x, which from 4 on rounds to 1. Both
// were fitted to the least relative error.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V ErfOf(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V s = hn::Mul(x, x), one = hn::Set(d, 1.0F), size = hn::Abs(x);
  V near = hn::Set(d, 7.889119297033176e-05F);
  near = hn::MulAdd(near, s, hn::Set(d, -0.0008020841050893068F));
  near = hn::MulAdd(near, s, hn::Set(d, 0.005189535208046436F));
  near = hn::MulAdd(near, s, hn::Set(d, -0.026854444295167923F));
  near = hn::MulAdd(near, s, hn::Set(d, 0.11283600330352783F));
  near = hn::MulAdd(near, s, hn::Set(d, -0.3761262595653534F));
  near = hn::MulAdd(near, s, hn::Set(d, 1.1283791065216064F));
  const V t = hn::Min(size, hn::Set(d, 4.0F));
  V far = hn::Set(d, -0.00038888162816874683F);
  far = hn::MulAdd(far, t, hn::Set(d, 0.006005093455314636F));
  far = hn::MulAdd(far, t, hn::Set(d, -0.04099799320101738F));
  far = hn::MulAdd(far, t, hn::Set(d, 0.16413311660289764F));
  far = hn::MulAdd(far, t, hn::Set(d, -0.4316786825656891F));
  far = hn::MulAdd(far, t, hn::Set(d, 0.7925938367843628F));
  far = hn::MulAdd(far, t, hn::Set(d, -1.0482101440429688F));
  far = hn::MulAdd(far, t, hn::Set(d, 0.9861271381378174F));
  far = hn::CopySign(hn::NegMulAdd(vector_math::HWY_NAMESPACE::ExpOfMinus(d, hn::Mul(t, t)), far, one), x);
  const V y = hn::IfThenElse(hn::Le(size, one), hn::Mul(near, x), far);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
