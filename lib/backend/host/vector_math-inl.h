// Exponentials, sigmoid and tanh of float vectors, right over the whole range: NaN stays NaN, infinities give the
// limits. Within three units in the last place of the exact value, results below the least normal number aside.
// Included once for every instruction set.
#if defined(PT_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT_VECTOR_MATH_INL_H
#undef PT_VECTOR_MATH_INL_H
#else
#define PT_VECTOR_MATH_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pt::vector_math::HWY_NAMESPACE {

// exp(-x) for x >= 0: 0 where the result is not a normal number; NaN for NaN.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V ExpOfMinus(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> integers;
  const auto n = hn::NearestInt(hn::Mul(x, hn::Set(d, -1.442695041F)));  // exp(-x) = 2^n · exp(rest), rest small
  const V whole = hn::ConvertTo(d, n);
  // ln 2 in two parts, of which the first times n is exact.
  const V rest =
      hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4F), hn::NegMulAdd(whole, hn::Set(d, 0.693359375F), hn::Neg(x)));
  V p = hn::Set(d, 0.00139421597F);
  p = hn::MulAdd(p, rest, hn::Set(d, 0.00837596785F));
  p = hn::MulAdd(p, rest, hn::Set(d, 0.0416663401F));
  p = hn::MulAdd(p, rest, hn::Set(d, 0.166664049F));
  p = hn::MulAdd(p, rest, hn::Set(d, 0.5F));
  p = hn::MulAdd(p, rest, hn::Set(d, 1.0F));
  p = hn::MulAdd(p, rest, hn::Set(d, 1.0F));
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(integers, 127))));
  // Beyond 87 the exponent leaves the range of normal numbers; the product above is then anything.
  return hn::IfThenZeroElse(hn::Gt(x, hn::Set(d, 87.0F)), hn::Mul(p, power));
}

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F), z = ExpOfMinus(d, hn::Abs(x));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), z, one), hn::Add(one, z));
}

template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const V one = hn::Set(d, 1.0F), size = hn::Abs(x), z = ExpOfMinus(d, hn::Add(size, size));
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

}  // namespace pt::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
