// Functions of float vectors, right over the whole range: NaN stays NaN, infinities give the limits, what is less than
// the least normal number keeps the digits that it can have. One function each, for every library with kernels of its
// own. Errors, in units in the last place of the exact value, for any float (test/backend/vector_math_test.cc):
//   Exp 1.5, FlushedExpOfMinus 1.5, Sigmoid 2.5, Softplus 3, Tanh 2, Erf 2.5, Log 1
// Included once for every instruction set.
#if defined(PT_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT_VECTOR_MATH_INL_H
#undef PT_VECTOR_MATH_INL_H
#else
#define PT_VECTOR_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace pt::vector_math::HWY_NAMESPACE {

// exp(x) = fraction · 2^exponent, the fraction from 0.7 to 1.42, for x from -104 to 89; the fraction is NaN for NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
struct ExpParts {
  V fraction;
  hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::RebindToSigned<D>> exponent;

  HWY_INLINE ExpParts(D d, V x) {
    namespace hn = hwy::HWY_NAMESPACE;
    exponent = hn::NearestInt(hn::Mul(x, hn::Set(d, 1.442695041F)));
    const V whole = hn::ConvertTo(d, exponent);
    // ln 2 in two parts, of which the first times the exponent is exact.
    const V rest = hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4F), hn::NegMulAdd(whole, hn::Set(d, 0.693359375F), x));
    V p = hn::Set(d, 0.00139421597F);
    p = hn::MulAdd(p, rest, hn::Set(d, 0.00837596785F));
    p = hn::MulAdd(p, rest, hn::Set(d, 0.0416663401F));
    p = hn::MulAdd(p, rest, hn::Set(d, 0.166664049F));
    p = hn::MulAdd(p, rest, hn::Set(d, 0.5F));
    p = hn::MulAdd(p, rest, hn::Set(d, 1.0F));
    fraction = hn::MulAdd(p, rest, hn::Set(d, 1.0F));
  }
};

// 2^n for n from -126 to 127.
template <class D, class I>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> PowerOfTwo(D d, I n) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(hn::RebindToSigned<D>(), 127))));
}

// exp(x) for x from -104 to 89, beyond which it is 0 or infinite; NaN for NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V ExpWithin(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const ExpParts<D> parts(d, x);
  // In two steps: one power of two alone would leave the range of normal numbers before the result does.
  const auto half = hn::ShiftRight<1>(parts.exponent);
  return hn::Mul(hn::Mul(parts.fraction, PowerOfTwo(d, half)), PowerOfTwo(d, hn::Sub(parts.exponent, half)));
}

// min(x, most) and max(x, least), but NaN for NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V AtMost(D d, V x, float most) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, most)), hn::Set(d, most), x);
}
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V AtLeast(D d, V x, float least) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, least)), hn::Set(d, least), x);
}

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  return ExpWithin(d, AtMost(d, AtLeast(d, x, -104.0F), 89.0F));
}

// exp(-x) for x >= 0, for sums of such values and of ones like them: 0 where x is above 87, from where the results are
// hardly normal numbers, and so some fifth faster. NaN for NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V FlushedExpOfMinus(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const ExpParts<D> parts(d, hn::Neg(x));
  return hn::IfThenZeroElse(hn::Gt(x, hn::Set(d, 87.0F)), hn::Mul(parts.fraction, PowerOfTwo(d, parts.exponent)));
}

// Highway's is defined for positive finite numbers.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Log(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V zero = hn::Zero(d), infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const V y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::Log(d, x));
  const V upper = hn::IfThenElse(hn::Eq(x, infinity), x, y);
  const auto undefined = hn::Or(hn::Lt(x, zero), hn::IsNaN(x));
  return hn::IfThenElse(undefined, hn::Set(d, std::numeric_limits<float>::quiet_NaN()), upper);
}

// exp(-|x|): of the falling side, so that nothing overflows and small results keep their digits.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V ExpOfMinusSize(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  return ExpWithin(d, hn::Neg(AtMost(d, hn::Abs(x), 104.0F)));
}

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F), z = ExpOfMinusSize(d, x);
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), z, one), hn::Add(one, z));
}

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Softplus(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V y = hn::Add(hn::Max(x, hn::Zero(d)), hn::Log1p(d, ExpOfMinusSize(d, x)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F), size = hn::Abs(x), z = FlushedExpOfMinus(d, hn::Add(size, size));
  const V far = hn::Div(hn::Sub(one, z), hn::Add(one, z));
  // Near zero the difference above would lose digits: a polynomial.
  const V square = hn::Mul(x, x);
  V p = hn::Set(d, -0.00592372613F);
  p = hn::MulAdd(p, square, hn::Set(d, 0.0208734609F));
  p = hn::MulAdd(p, square, hn::Set(d, -0.0538237579F));
  p = hn::MulAdd(p, square, hn::Set(d, 0.13332583F));
  p = hn::MulAdd(p, square, hn::Set(d, -0.333333284F));
  const V near = hn::MulAdd(hn::Mul(p, square), size, size);
  return hn::CopySign(hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.625F)), near, far), x);
}

// Up to 1, x times a polynomial in x²; beyond, 1 - exp(-x²) times a polynomial in x, which from 4 on rounds to 1. Both
// were fitted to the least relative error.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Erf(D d, V x) {
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
  far = hn::CopySign(hn::NegMulAdd(FlushedExpOfMinus(d, hn::Mul(t, t)), far, one), x);
  const V y = hn::IfThenElse(hn::Le(size, one), hn::Mul(near, x), far);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

}  // namespace pt::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
