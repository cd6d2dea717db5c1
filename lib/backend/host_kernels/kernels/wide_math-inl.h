// Functions of float32 computed in double vectors, for those that need more digits on the way than float32 has. Each
// says which elements it holds for; the few others (huge angles, infinities, NaN) are left to the C library. Included
// once for every instruction set.
#if defined(PT_HOST_WIDE_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PT_HOST_WIDE_MATH_INL_H
#undef PT_HOST_WIDE_MATH_INL_H
#else
#define PT_HOST_WIDE_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {

using WideD = hwy::HWY_NAMESPACE::ScalableTag<double>;
using WideV = hwy::HWY_NAMESPACE::Vec<WideD>;
using WideM = hwy::HWY_NAMESPACE::Mask<WideD>;
using NarrowD = hwy::HWY_NAMESPACE::Rebind<float, WideD>;
using NarrowV = hwy::HWY_NAMESPACE::Vec<NarrowD>;

// Sine, or cosine, of angles below 2^20.
template <bool cosine>
struct WideSine {
  static HWY_INLINE WideM Of(WideV x, WideV, NarrowV& y) {
    namespace hn = hwy::HWY_NAMESPACE;
    const WideD d;
    const hn::RebindToUnsigned<WideD> bits;
    // The nearest whole number of quarter turns: in the low bits of the sum, and as a number after the subtraction.
    const WideV magic = hn::Set(d, 0x1.8p52);
    const WideV sum = hn::Add(hn::Mul(x, hn::Set(d, 0.63661977236758134308)), magic);
    const WideV whole = hn::Sub(sum, magic);
    // Half of pi in two parts, of which the first has so few bits that its product is exact.
    WideV r = hn::Sub(x, hn::Mul(whole, hn::Set(d, 0x1.921fb544p0)));
    r = hn::Sub(r, hn::Mul(whole, hn::Set(d, 6.07710050650619224932e-11)));
    // Taylor's series; up to an eighth of a turn what it leaves out is below 2^-33.
    const WideV s = hn::Mul(r, r), one = hn::Set(d, 1.0);
    WideV sine = hn::Set(d, -1.0 / 39916800);
    sine = hn::MulAdd(sine, s, hn::Set(d, 1.0 / 362880));
    sine = hn::MulAdd(sine, s, hn::Set(d, -1.0 / 5040));
    sine = hn::MulAdd(sine, s, hn::Set(d, 1.0 / 120));
    sine = hn::MulAdd(sine, s, hn::Set(d, -1.0 / 6));
    sine = hn::Mul(hn::MulAdd(sine, s, one), r);
    WideV cosines = hn::Set(d, -1.0 / 3628800);
    cosines = hn::MulAdd(cosines, s, hn::Set(d, 1.0 / 40320));
    cosines = hn::MulAdd(cosines, s, hn::Set(d, -1.0 / 720));
    cosines = hn::MulAdd(cosines, s, hn::Set(d, 1.0 / 24));
    cosines = hn::MulAdd(cosines, s, hn::Set(d, -0.5));
    cosines = hn::MulAdd(cosines, s, one);
    // Odd quarters swap the two, and every other pair of quarters turns the sign.
    auto quarter = hn::BitCast(bits, sum);
    if constexpr (cosine) quarter = hn::Add(quarter, hn::Set(bits, 1));
    const WideM odd = hn::RebindMask(d, hn::TestBit(quarter, hn::Set(bits, 1)));
    const auto sign = hn::ShiftLeft<62>(hn::And(quarter, hn::Set(bits, 2)));
    const WideV size = hn::IfThenElse(odd, cosines, sine);
    y = hn::DemoteTo(NarrowD(), hn::BitCast(d, hn::Xor(hn::BitCast(bits, size), sign)));
    return hn::Lt(hn::Abs(x), hn::Set(d, 0x1p20));
  }
  static float Plain(float x, float) { return cosine ? std::cos(x) : std::sin(x); }
};

// Finite bases other than zero whose power is far from the ends of double.
struct WidePower {
  static HWY_INLINE WideM Of(WideV base, WideV exponent, NarrowV& y) {
    namespace hn = hwy::HWY_NAMESPACE;
    const WideD d;
    const WideV zero = hn::Zero(d), one = hn::Set(d, 1.0), size = hn::Abs(base);
    const WideM regular =
        hn::And(hn::Gt(size, zero), hn::Lt(size, hn::Set(d, std::numeric_limits<double>::infinity())));
    const WideV log = hn::Mul(exponent, hn::Log(d, hn::IfThenElse(regular, size, one)));
    const WideM usual = hn::And(regular, hn::Lt(hn::Abs(log), hn::Set(d, 700.0)));
    const WideV power = hn::Exp(d, hn::IfThenElse(usual, log, zero));
    // Negative bases have powers of whole exponents only, negative ones where these are odd.
    const WideV half = hn::Mul(exponent, hn::Set(d, 0.5));
    const WideV turned = hn::IfThenElse(hn::Eq(hn::Round(half), half), power, hn::Neg(power));
    const WideV undefined = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
    const WideV below = hn::IfThenElse(hn::Eq(hn::Round(exponent), exponent), turned, undefined);
    y = hn::DemoteTo(NarrowD(), hn::IfThenElse(hn::Lt(base, zero), below, power));
    return usual;
  }
  static float Plain(float base, float exponent) { return std::pow(base, exponent); }
};

// What remains of a division by b: with the sign of a, or (floor) of b. Where quotients are below 2^28, so that no
// rounding of theirs crosses a whole number.
template <bool floor>
struct WideRemainder {
  static HWY_INLINE WideM Of(WideV a, WideV b, NarrowV& y) {
    namespace hn = hwy::HWY_NAMESPACE;
    const WideD d;
    const NarrowD narrow;
    const WideV whole = hn::Trunc(hn::Div(a, b));
    const WideV rest = hn::CopySign(hn::NegMulAdd(whole, b, a), a);  // exact, as a float32 too
    y = hn::DemoteTo(narrow, rest);
    if constexpr (floor) {
      const NarrowV zero = hn::Zero(narrow), divisor = hn::DemoteTo(narrow, b);
      const auto differ = hn::Xor(hn::Lt(y, zero), hn::Lt(divisor, zero));
      y = hn::IfThenElse(hn::And(differ, hn::Ne(y, zero)), hn::Add(y, divisor), y);
    }
    const WideM finite = hn::Lt(hn::Abs(b), hn::Set(d, std::numeric_limits<double>::infinity()));
    return hn::And(finite, hn::Lt(hn::Abs(whole), hn::Set(d, 0x1p28)));
  }
  static float Plain(float a, float b) {
    const float r = std::fmod(a, b);
    return floor && r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
