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

// An angle below 2^20 as quarter turns and a rest, of which sine and cosine are known.
struct WideAngle {
  WideV sine, cosine;
  hwy::HWY_NAMESPACE::Vec<hwy::HWY_NAMESPACE::RebindToUnsigned<WideD>> quarters;  // in the low bits

  explicit HWY_INLINE WideAngle(WideV x) {
    namespace hn = hwy::HWY_NAMESPACE;
    const WideD d;
    // The nearest whole number of quarter turns: in the low bits of the sum, and as a number after the subtraction.
    const WideV magic = hn::Set(d, 0x1.8p52);
    const WideV sum = hn::Add(hn::Mul(x, hn::Set(d, 0.63661977236758134308)), magic);
    const WideV whole = hn::Sub(sum, magic);
    quarters = hn::BitCast(hn::RebindToUnsigned<WideD>(), sum);
    // Half of pi in two parts, of which the first has so few bits that its product is exact.
    WideV r = hn::Sub(x, hn::Mul(whole, hn::Set(d, 0x1.921fb544p0)));
    r = hn::Sub(r, hn::Mul(whole, hn::Set(d, 6.07710050650619224932e-11)));
    // Taylor's series; up to an eighth of a turn what it leaves out is below 2^-33.
    const WideV s = hn::Mul(r, r), one = hn::Set(d, 1.0);
    sine = hn::Set(d, -1.0 / 39916800);
    sine = hn::MulAdd(sine, s, hn::Set(d, 1.0 / 362880));
    sine = hn::MulAdd(sine, s, hn::Set(d, -1.0 / 5040));
    sine = hn::MulAdd(sine, s, hn::Set(d, 1.0 / 120));
    sine = hn::MulAdd(sine, s, hn::Set(d, -1.0 / 6));
    sine = hn::Mul(hn::MulAdd(sine, s, one), r);
    cosine = hn::Set(d, -1.0 / 3628800);
    cosine = hn::MulAdd(cosine, s, hn::Set(d, 1.0 / 40320));
    cosine = hn::MulAdd(cosine, s, hn::Set(d, -1.0 / 720));
    cosine = hn::MulAdd(cosine, s, hn::Set(d, 1.0 / 24));
    cosine = hn::MulAdd(cosine, s, hn::Set(d, -0.5));
    cosine = hn::MulAdd(cosine, s, one);
  }

  // Where the bit of the number of quarters is set.
  HWY_INLINE WideM HasQuarter(uint64_t bit) const {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::RebindMask(WideD(), hn::TestBit(quarters, hn::Set(hn::RebindToUnsigned<WideD>(), bit)));
  }
  static HWY_INLINE WideM Holds(WideV x) {
    namespace hn = hwy::HWY_NAMESPACE;
    return hn::Lt(hn::Abs(x), hn::Set(WideD(), 0x1p20));
  }
};

template <bool cosine>
struct WideSine {
  static HWY_INLINE WideM Of(WideV x, WideV, NarrowV& y) {
    namespace hn = hwy::HWY_NAMESPACE;
    const WideD d;
    const hn::RebindToUnsigned<WideD> bits;
    WideAngle angle(x);
    if constexpr (cosine) angle.quarters = hn::Add(angle.quarters, hn::Set(bits, 1));
    // Odd quarters swap the two, and every other pair of quarters turns the sign.
    const auto sign = hn::ShiftLeft<62>(hn::And(angle.quarters, hn::Set(bits, 2)));
    const WideV size = hn::IfThenElse(angle.HasQuarter(1), angle.cosine, angle.sine);
    y = hn::DemoteTo(NarrowD(), hn::BitCast(d, hn::Xor(hn::BitCast(bits, size), sign)));
    return WideAngle::Holds(x);
  }
  static float Plain(float x, float) { return cosine ? std::cos(x) : std::sin(x); }
};

struct WideTangent {
  static HWY_INLINE WideM Of(WideV x, WideV, NarrowV& y) {
    namespace hn = hwy::HWY_NAMESPACE;
    const WideAngle angle(x);
    const WideM odd = angle.HasQuarter(1);
    const WideV above = hn::IfThenElse(odd, hn::Neg(angle.cosine), angle.sine);
    y = hn::DemoteTo(NarrowD(), hn::Div(above, hn::IfThenElse(odd, angle.sine, angle.cosine)));
    return WideAngle::Holds(x);
  }
  static float Plain(float x, float) { return std::tan(x); }
};

// Functions that Highway has for double, with where theirs hold.
#define PT_WIDE_FUNCTION(name, value, holds, plain)          \
  struct name {                                              \
    static HWY_INLINE WideM Of(WideV x, WideV, NarrowV& y) { \
      namespace hn = hwy::HWY_NAMESPACE;                     \
      const WideD d;                                         \
      [[maybe_unused]] const WideV size = hn::Abs(x);        \
      y = hn::DemoteTo(NarrowD(), value);                    \
      return holds;                                          \
    }                                                        \
    static float Plain(float x, float) { return plain(x); }  \
  }
PT_WIDE_FUNCTION(WideAcos, hn::Acos(d, x), hn::Le(size, hn::Set(d, 1.0)), std::acos);
PT_WIDE_FUNCTION(WideAcosh, hn::Acosh(d, x), hn::And(hn::Ge(x, hn::Set(d, 1.0)), hn::Lt(x, hn::Set(d, 1e38))),
                 std::acosh);
PT_WIDE_FUNCTION(WideAsin, hn::Asin(d, x), hn::Le(size, hn::Set(d, 1.0)), std::asin);
PT_WIDE_FUNCTION(WideAsinh, hn::Asinh(d, x), hn::Lt(size, hn::Set(d, 1e38)), std::asinh);
PT_WIDE_FUNCTION(WideAtan, hn::Atan(d, x), hn::Lt(size, hn::Set(d, 1e38)), std::atan);
PT_WIDE_FUNCTION(WideAtanh, hn::Atanh(d, x), hn::Lt(size, hn::Set(d, 1.0)), std::atanh);
PT_WIDE_FUNCTION(WideCosh, hn::Mul(hn::Set(d, 0.5), hn::Add(hn::Exp(d, size), hn::Exp(d, hn::Neg(size)))),
                 hn::Lt(size, hn::Set(d, 700.0)), std::cosh);
PT_WIDE_FUNCTION(WideSinh, hn::Sinh(d, x), hn::Lt(size, hn::Set(d, 700.0)), std::sinh);
#undef PT_WIDE_FUNCTION

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
