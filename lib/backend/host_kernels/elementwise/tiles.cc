#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/backend/host_kernels/elementwise/tiles.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <cmath>
#include <cstring>

#include "lib/backend/host/vector_math-inl.h"
#include "lib/backend/host_kernels/elementwise/quantisation_tiles.h"
#include "lib/backend/host_kernels/elementwise/tiles.h"
#include "lib/backend/host_kernels/elementwise/wide_tiles.h"
#include "lib/backend/host_kernels/kernels/bfloat16.h"
#include "partitiontuner/graph/visit_type.h"

HWY_BEFORE_NAMESPACE();
namespace pt::host::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace vm = vector_math::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// ---- float32, by vectors: what F::Of makes of one vector from each input.

template <class F>
void Map1(const TileCall& call) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* x = static_cast<const float*>(call.in[0]);
  auto* y = static_cast<float*>(call.out);
  int64_t i = 0;
  for (; i + lanes <= call.n; i += lanes) hn::StoreU(F::Of(d, hn::LoadU(d, x + i), call), d, y + i);
  if (i == call.n) return;
  HWY_ALIGN float rest[hn::MaxLanes(D())] = {};
  const size_t bytes = static_cast<size_t>(call.n - i) * sizeof(float);
  std::memcpy(rest, x + i, bytes);
  hn::Store(F::Of(d, hn::Load(d, rest), call), d, rest);
  std::memcpy(y + i, rest, bytes);
}

template <class F>
void Map2(const TileCall& call) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto *a = static_cast<const float*>(call.in[0]), *b = static_cast<const float*>(call.in[1]);
  auto* y = static_cast<float*>(call.out);
  int64_t i = 0;
  for (; i + lanes <= call.n; i += lanes) hn::StoreU(F::Of(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  if (i == call.n) return;
  HWY_ALIGN float rest_a[hn::MaxLanes(D())] = {}, rest_b[hn::MaxLanes(D())] = {};
  const size_t bytes = static_cast<size_t>(call.n - i) * sizeof(float);
  std::memcpy(rest_a, a + i, bytes);
  std::memcpy(rest_b, b + i, bytes);
  hn::Store(F::Of(d, hn::Load(d, rest_a), hn::Load(d, rest_b)), d, rest_a);
  std::memcpy(y + i, rest_a, bytes);
}

#define PT_VECTOR_FUNCTION(name, expression)                 \
  struct name {                                              \
    static HWY_INLINE V Of(D d, V x, const TileCall& call) { \
      (void)d;                                               \
      (void)call;                                            \
      return expression;                                     \
    }                                                        \
  }
// A NaN is neither above nor below, and stays.
HWY_INLINE V Clamped(D d, V x, float low, float high) {
  const V raised = hn::IfThenElse(hn::Lt(x, hn::Set(d, low)), hn::Set(d, low), x);
  return hn::IfThenElse(hn::Gt(raised, hn::Set(d, high)), hn::Set(d, high), raised);
}
PT_VECTOR_FUNCTION(VectorAbs, hn::Abs(x));
PT_VECTOR_FUNCTION(VectorCeil, hn::Ceil(x));
PT_VECTOR_FUNCTION(VectorClip, Clamped(d, x, call.p, call.q));
PT_VECTOR_FUNCTION(VectorDivideBy, hn::Div(x, hn::Set(d, call.p)));
// exp(x) - 1 for x of 0 and less; NaN for NaN.
HWY_INLINE V LessThanExp(D d, V x) { return hn::Expm1(d, vm::AtLeast(d, x, -104.0F)); }
PT_VECTOR_FUNCTION(VectorCelu,
                   hn::IfThenElse(hn::Lt(x, hn::Zero(d)),
                                  hn::Mul(hn::Set(d, call.p), LessThanExp(d, hn::Div(x, hn::Set(d, call.p)))), x));
PT_VECTOR_FUNCTION(VectorElu,
                   hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(hn::Set(d, call.p), LessThanExp(d, x)), x));
PT_VECTOR_FUNCTION(VectorErf, vm::Erf(d, x));
PT_VECTOR_FUNCTION(VectorExp, vm::Exp(d, x));
PT_VECTOR_FUNCTION(VectorFloor, hn::Floor(x));
PT_VECTOR_FUNCTION(VectorGelu, hn::Mul(hn::Mul(x, hn::Set(d, 0.5F)),
                                       hn::Add(vm::Erf(d, hn::Mul(x, hn::Set(d, 0.70710678F))), hn::Set(d, 1.0F))));
// (1 + tanh(u)) / 2 as a sigmoid of 2u, which loses nothing where it is small.
PT_VECTOR_FUNCTION(VectorGeluTanh, hn::Mul(x, vm::Sigmoid(d, hn::Mul(hn::Mul(x, hn::Set(d, 1.5957691F)),
                                                                     hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715F),
                                                                                hn::Set(d, 1.0F))))));
PT_VECTOR_FUNCTION(VectorHardSigmoid,
                   Clamped(d, hn::Add(hn::Mul(x, hn::Set(d, call.p)), hn::Set(d, call.q)), 0.0F, 1.0F));
PT_VECTOR_FUNCTION(VectorHardSwish,
                   hn::Mul(x, Clamped(d, hn::Add(hn::Div(x, hn::Set(d, 6.0F)), hn::Set(d, 0.5F)), 0.0F, 1.0F)));
PT_VECTOR_FUNCTION(VectorLeakyRelu, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, hn::Set(d, call.p)), x));
PT_VECTOR_FUNCTION(VectorLog, vm::Log(d, x));
PT_VECTOR_FUNCTION(VectorMish, hn::Mul(x, vm::Tanh(d, vm::Softplus(d, x))));
PT_VECTOR_FUNCTION(VectorNeg, hn::Neg(x));
PT_VECTOR_FUNCTION(VectorReciprocal, hn::Div(hn::Set(d, 1.0F), x));
PT_VECTOR_FUNCTION(VectorRelu, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x));
PT_VECTOR_FUNCTION(VectorRound, hn::Round(x));
PT_VECTOR_FUNCTION(VectorSelu,
                   hn::Mul(hn::Set(d, call.q),
                           hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(hn::Set(d, call.p), LessThanExp(d, x)), x)));
PT_VECTOR_FUNCTION(VectorShrink,
                   hn::IfThenElse(hn::Lt(x, hn::Set(d, -call.p)), hn::Add(x, hn::Set(d, call.q)),
                                  hn::IfThenElseZero(hn::Gt(x, hn::Set(d, call.p)), hn::Sub(x, hn::Set(d, call.q)))));
PT_VECTOR_FUNCTION(VectorSigmoid, vm::Sigmoid(d, x));
PT_VECTOR_FUNCTION(VectorSign, hn::IfThenElse(hn::IsNaN(x), x,
                                              hn::Sub(hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0F)),
                                                      hn::IfThenElseZero(hn::Lt(x, hn::Zero(d)), hn::Set(d, 1.0F)))));
PT_VECTOR_FUNCTION(VectorSoftplus, vm::Softplus(d, x));
PT_VECTOR_FUNCTION(VectorSoftsign, hn::Div(x, hn::Add(hn::Abs(x), hn::Set(d, 1.0F))));
PT_VECTOR_FUNCTION(VectorSqrt, hn::Sqrt(x));
PT_VECTOR_FUNCTION(VectorSquare, hn::Mul(x, x));
PT_VECTOR_FUNCTION(VectorSwish, hn::Mul(x, vm::Sigmoid(d, hn::Mul(x, hn::Set(d, call.p)))));
PT_VECTOR_FUNCTION(VectorTanh, vm::Tanh(d, x));
PT_VECTOR_FUNCTION(VectorThresholdedRelu, hn::IfThenElseZero(hn::Gt(x, hn::Set(d, call.p)), x));
#undef PT_VECTOR_FUNCTION

#define PT_VECTOR_FUNCTION2(name, expression) \
  struct name {                               \
    static HWY_INLINE V Of(D d, V a, V b) {   \
      (void)d;                                \
      return expression;                      \
    }                                         \
  }
PT_VECTOR_FUNCTION2(VectorAdd, hn::Add(a, b));
PT_VECTOR_FUNCTION2(VectorSub, hn::Sub(a, b));
PT_VECTOR_FUNCTION2(VectorMul, hn::Mul(a, b));
PT_VECTOR_FUNCTION2(VectorDiv, hn::Div(a, b));
// NaN on either side gives NaN.
PT_VECTOR_FUNCTION2(VectorMax,
                    hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), hn::IfThenElse(hn::IsNaN(a), a, b), a));
PT_VECTOR_FUNCTION2(VectorMin,
                    hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), hn::IfThenElse(hn::IsNaN(a), a, b), a));
PT_VECTOR_FUNCTION2(VectorPrelu, hn::IfThenElse(hn::Lt(a, hn::Zero(d)), hn::Mul(a, b), a));
#undef PT_VECTOR_FUNCTION2

// ---- integers, one by one

// The remainder of the divisor's sign, from that of the dividend's.
template <typename T>
T FloorFrom(T remainder, T divisor) {
  return remainder != 0 && (remainder < 0) != (divisor < 0) ? remainder + divisor : remainder;
}

// Negative exponents: the reciprocal, truncated.
template <typename T>
T WrappingPower(T base, T exponent) {
  using U = std::make_unsigned_t<T>;
  if (exponent < 0) return base == 1 || base == -1 ? (exponent % 2 != 0 ? base : T{1}) : T{0};
  U result = 1, square = static_cast<U>(base);
  for (; exponent != 0; exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) result *= square;
  }
  return static_cast<T>(result);
}

// ---- other types: loops that the compiler turns into vectors of this instruction set

template <class F, typename In, typename Out>
void Loop(const TileCall& call) {
  const auto *a = static_cast<const In*>(call.in[0]), *b = static_cast<const In*>(call.in[1]);
  auto* y = static_cast<Out*>(call.out);
  for (int64_t i = 0; i < call.n; ++i) y[i] = static_cast<Out>(F::Of(a[i], b[i]));
}

#define PT_LOOP_FUNCTION(name, expression)      \
  struct name {                                 \
    template <typename T>                       \
    static auto Of(T a, [[maybe_unused]] T b) { \
      return expression;                        \
    }                                           \
  }
// Integers wrap around, as two's complement defines it.
template <typename T>
using Bits = std::make_unsigned_t<T>;
PT_LOOP_FUNCTION(WrappingAdd, static_cast<Bits<T>>(a) + static_cast<Bits<T>>(b));
PT_LOOP_FUNCTION(WrappingSub, static_cast<Bits<T>>(a) - static_cast<Bits<T>>(b));
PT_LOOP_FUNCTION(WrappingMul, static_cast<Bits<T>>(a) * static_cast<Bits<T>>(b));
// Of the smallest number the size is itself.
PT_LOOP_FUNCTION(WrappingAbs, a < 0 ? Bits<T>{0} - static_cast<Bits<T>>(a) : static_cast<Bits<T>>(a));
PT_LOOP_FUNCTION(WrappingNeg, Bits<T>{0} - static_cast<Bits<T>>(a));
PT_LOOP_FUNCTION(SignOf, (a > 0) - (a < 0));
// Never a trap: by zero gives 0, the smallest number by -1 gives itself.
PT_LOOP_FUNCTION(Quotient, b == 0    ? Bits<T>{0}
                           : b == -1 ? Bits<T>{0} - static_cast<Bits<T>>(a)
                                     : static_cast<Bits<T>>(a / b));
PT_LOOP_FUNCTION(Remainder, b == 0 || b == -1 ? T{0} : a % b);
PT_LOOP_FUNCTION(FloorRemainder, FloorFrom(Remainder::Of(a, b), b));
PT_LOOP_FUNCTION(PowerOf, WrappingPower(a, b));
PT_LOOP_FUNCTION(BitsOfBoth, (a & b));
PT_LOOP_FUNCTION(BitsOfAny, a | b);
PT_LOOP_FUNCTION(BitsOfOne, a ^ b);
PT_LOOP_FUNCTION(OtherBits, ~a);
PT_LOOP_FUNCTION(GreaterOf, a < b ? b : a);
PT_LOOP_FUNCTION(LesserOf, b < a ? b : a);
PT_LOOP_FUNCTION(IsEqual, a == b);
PT_LOOP_FUNCTION(IsLess, a < b);
PT_LOOP_FUNCTION(IsLessOrEqual, a <= b);
PT_LOOP_FUNCTION(IsGreater, a > b);
PT_LOOP_FUNCTION(IsGreaterOrEqual, a >= b);
PT_LOOP_FUNCTION(IsNotANumber, a != a);
PT_LOOP_FUNCTION(IsInfinite, std::fabs(a) == std::numeric_limits<T>::infinity());
PT_LOOP_FUNCTION(IsNegativeInfinite, a == -std::numeric_limits<T>::infinity());
PT_LOOP_FUNCTION(IsPositiveInfinite, a == std::numeric_limits<T>::infinity());
PT_LOOP_FUNCTION(BothTrue, (a != 0) & (b != 0));
PT_LOOP_FUNCTION(AnyTrue, (a != 0) | (b != 0));
PT_LOOP_FUNCTION(OneTrue, (a != 0) != (b != 0));
PT_LOOP_FUNCTION(SameTruth, (a != 0) == (b != 0));
#undef PT_LOOP_FUNCTION

void Not(const TileCall& call) {
  const auto* x = static_cast<const uint8_t*>(call.in[0]);
  auto* y = static_cast<uint8_t*>(call.out);
  for (int64_t i = 0; i < call.n; ++i) y[i] = x[i] == 0 ? 1 : 0;
}

template <typename T>
void Where(const TileCall& call) {
  const auto* condition = static_cast<const uint8_t*>(call.in[0]);
  const auto *a = static_cast<const T*>(call.in[1]), *b = static_cast<const T*>(call.in[2]);
  auto* y = static_cast<T*>(call.out);
  for (int64_t i = 0; i < call.n; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
}

template <typename T>
inline constexpr bool kIs16BitFloat = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

// Floats truncate; beyond the range of the wide integer they become its nearest end, NaN becomes 0; narrower integers
// keep the low bits.
template <typename To, typename From>
To Converted(From x) {
  if constexpr (std::is_same_v<To, Half>) {
    return ToHalf(x);
  } else if constexpr (std::is_same_v<To, Bfloat16>) {
    return ToBfloat16(x);
  } else if constexpr (kIs16BitFloat<From>) {
    return ToFloat(x);
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
    const float limit = 9223372036854775808.0F;
    const int64_t whole = x >= limit   ? std::numeric_limits<int64_t>::max()
                          : x < -limit ? std::numeric_limits<int64_t>::min()
                          : x != x     ? 0
                                       : static_cast<int64_t>(x);
    return static_cast<To>(whole);
  } else {
    return static_cast<To>(x);
  }
}

template <typename To, typename From>
void Cast(const TileCall& call) {
  const auto* x = static_cast<const From*>(call.in[0]);
  auto* y = static_cast<To*>(call.out);
  if constexpr (std::is_same_v<From, Bfloat16>) return FindBfloat16Conversions().widen(x, y, call.n);
  if constexpr (std::is_same_v<To, Bfloat16>) return FindBfloat16Conversions().narrow(x, y, call.n);
  for (int64_t i = 0; i < call.n; ++i) y[i] = Converted<To>(x[i]);
}

// ---- the tables

TileFunction FloatFunction(Function function) {
  switch (function) {
    case Function::kAbs:
      return Map1<VectorAbs>;
    case Function::kCeil:
      return Map1<VectorCeil>;
    case Function::kCelu:
      return Map1<VectorCelu>;
    case Function::kClip:
      return Map1<VectorClip>;
    case Function::kDivideBy:
      return Map1<VectorDivideBy>;
    case Function::kElu:
      return Map1<VectorElu>;
    case Function::kErf:
      return Map1<VectorErf>;
    case Function::kExp:
      return Map1<VectorExp>;
    case Function::kFloor:
      return Map1<VectorFloor>;
    case Function::kGelu:
      return Map1<VectorGelu>;
    case Function::kGeluTanh:
      return Map1<VectorGeluTanh>;
    case Function::kHardSigmoid:
      return Map1<VectorHardSigmoid>;
    case Function::kHardSwish:
      return Map1<VectorHardSwish>;
    case Function::kLeakyRelu:
      return Map1<VectorLeakyRelu>;
    case Function::kLog:
      return Map1<VectorLog>;
    case Function::kMish:
      return Map1<VectorMish>;
    case Function::kNeg:
      return Map1<VectorNeg>;
    case Function::kReciprocal:
      return Map1<VectorReciprocal>;
    case Function::kRelu:
      return Map1<VectorRelu>;
    case Function::kRound:
      return Map1<VectorRound>;
    case Function::kSelu:
      return Map1<VectorSelu>;
    case Function::kShrink:
      return Map1<VectorShrink>;
    case Function::kSigmoid:
      return Map1<VectorSigmoid>;
    case Function::kSign:
      return Map1<VectorSign>;
    case Function::kSoftplus:
      return Map1<VectorSoftplus>;
    case Function::kSoftsign:
      return Map1<VectorSoftsign>;
    case Function::kSqrt:
      return Map1<VectorSqrt>;
    case Function::kSquare:
      return Map1<VectorSquare>;
    case Function::kSwish:
      return Map1<VectorSwish>;
    case Function::kTanh:
      return Map1<VectorTanh>;
    case Function::kThresholdedRelu:
      return Map1<VectorThresholdedRelu>;
    case Function::kAdd:
      return Map2<VectorAdd>;
    case Function::kSub:
      return Map2<VectorSub>;
    case Function::kMul:
      return Map2<VectorMul>;
    case Function::kDiv:
      return Map2<VectorDiv>;
    case Function::kMax:
      return Map2<VectorMax>;
    case Function::kMin:
      return Map2<VectorMin>;
    case Function::kPrelu:
      return Map2<VectorPrelu>;
    default:
      return FindWideTileFunction(function);
  }
}

template <typename T>
TileFunction IntegerFunction(Function function) {
  switch (function) {
    case Function::kAdd:
      return Loop<WrappingAdd, T, T>;
    case Function::kSub:
      return Loop<WrappingSub, T, T>;
    case Function::kMul:
      return Loop<WrappingMul, T, T>;
    case Function::kMax:
      return Loop<GreaterOf, T, T>;
    case Function::kMin:
      return Loop<LesserOf, T, T>;
    case Function::kDiv:
      return Loop<Quotient, T, T>;
    case Function::kFloorMod:
      return Loop<FloorRemainder, T, T>;
    case Function::kTruncatedMod:
      return Loop<Remainder, T, T>;
    case Function::kPow:
      return Loop<PowerOf, T, T>;
    case Function::kBitwiseAnd:
      return Loop<BitsOfBoth, T, T>;
    case Function::kBitwiseNot:
      return Loop<OtherBits, T, T>;
    case Function::kBitwiseOr:
      return Loop<BitsOfAny, T, T>;
    case Function::kBitwiseXor:
      return Loop<BitsOfOne, T, T>;
    case Function::kAbs:
      return Loop<WrappingAbs, T, T>;
    case Function::kNeg:
      return Loop<WrappingNeg, T, T>;
    case Function::kSign:
      return Loop<SignOf, T, T>;
    default:
      return nullptr;
  }
}

template <typename T>
TileFunction Comparison(Function function) {
  switch (function) {
    case Function::kEqual:
      return Loop<IsEqual, T, uint8_t>;
    case Function::kLess:
      return Loop<IsLess, T, uint8_t>;
    case Function::kLessOrEqual:
      return Loop<IsLessOrEqual, T, uint8_t>;
    case Function::kGreater:
      return Loop<IsGreater, T, uint8_t>;
    case Function::kGreaterOrEqual:
      return Loop<IsGreaterOrEqual, T, uint8_t>;
    default:
      return nullptr;
  }
}

TileFunction FloatTest(Function function) {
  switch (function) {
    case Function::kIsInf:
      return Loop<IsInfinite, float, uint8_t>;
    case Function::kIsNan:
      return Loop<IsNotANumber, float, uint8_t>;
    case Function::kIsNegativeInf:
      return Loop<IsNegativeInfinite, float, uint8_t>;
    case Function::kIsPositiveInf:
      return Loop<IsPositiveInfinite, float, uint8_t>;
    default:
      return Comparison<float>(function);
  }
}

TileFunction TruthFunction(Function function) {
  switch (function) {
    case Function::kEqual:
      return Loop<SameTruth, uint8_t, uint8_t>;
    case Function::kAnd:
      return Loop<BothTrue, uint8_t, uint8_t>;
    case Function::kOr:
      return Loop<AnyTrue, uint8_t, uint8_t>;
    case Function::kXor:
      return Loop<OneTrue, uint8_t, uint8_t>;
    case Function::kNot:
      return Not;
    default:
      return nullptr;
  }
}

template <typename T>
inline constexpr bool kIsCastable =
    std::is_same_v<T, float> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> ||
    std::is_same_v<T, uint8_t> || std::is_same_v<T, int8_t> || std::is_same_v<T, bool>;

// 16-bit floats to and from float32 alone.
template <typename To, typename From>
inline constexpr bool kCasts = kIs16BitFloat<To>     ? std::is_same_v<From, float>
                               : kIs16BitFloat<From> ? std::is_same_v<To, float>
                                                     : kIsCastable<To>&& kIsCastable<From>;

TileFunction CastFunction(DataType from, DataType to) {
  return VisitType(from, [&]<typename From>() -> TileFunction {
    return VisitType(to, [&]<typename To>() -> TileFunction {
      if constexpr (kCasts<To, From>) return Cast<To, From>;
      return nullptr;
    });
  });
}

TileFunction WhereFunction(int64_t bytes) {
  return bytes == 1   ? Where<uint8_t>
         : bytes == 2 ? Where<uint16_t>
         : bytes == 4 ? Where<uint32_t>
         : bytes == 8 ? Where<uint64_t>
                      : nullptr;
}

}  // namespace

TileFunction Find(Function function, DataType from, DataType to) {
  if (function == Function::kCast) return CastFunction(from, to);
  if (function == Function::kDequantise || function == Function::kQuantise)
    return FindQuantisationTileFunction(function, from, to);
  if (function == Function::kWhere) return from == to ? WhereFunction(BytesOf(from)) : nullptr;
  if (from == DataType::kBool) return to == DataType::kBool ? TruthFunction(function) : nullptr;
  return VisitType(from, [&]<typename T>() -> TileFunction {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) {
      if constexpr (std::is_same_v<T, float>) {
        if (to == DataType::kBool) return FloatTest(function);
      }
      if (to == DataType::kBool) return Comparison<T>(function);
      if (to != from) return nullptr;
      if constexpr (std::is_same_v<T, float>) return FloatFunction(function);
      if constexpr (!std::is_same_v<T, float>) return IntegerFunction<T>(function);
    }
    return nullptr;
  });
}

}  // namespace pt::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::host {
namespace {

HWY_EXPORT(Find);

}  // namespace

TileFunction FindTileFunction(Function function, DataType from, DataType to) {
  return HWY_DYNAMIC_DISPATCH(Find)(function, from, to);
}

double WorkOf(Function function) {
  switch (function) {
    case Function::kCelu:
    case Function::kElu:
    case Function::kErf:
    case Function::kExp:
    case Function::kGelu:
    case Function::kGeluTanh:
    case Function::kLog:
    case Function::kSelu:
    case Function::kSigmoid:
    case Function::kSoftplus:
    case Function::kSwish:
    case Function::kTanh:
      return 0.6;
    case Function::kAcos:
    case Function::kAcosh:
    case Function::kAsin:
    case Function::kAsinh:
    case Function::kAtan:
    case Function::kAtanh:
    case Function::kCos:
    case Function::kCosh:
    case Function::kMish:
    case Function::kSin:
    case Function::kSinh:
    case Function::kTan:
    case Function::kFloorMod:
    case Function::kTruncatedMod:
      return 1.5;
    case Function::kPow:
      return 4;
    case Function::kCast:
      return 0.3;
    default:
      return 0.1;
  }
}

}  // namespace pt::host
#endif
