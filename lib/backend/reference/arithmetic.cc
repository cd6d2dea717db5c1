// Arithmetic with broadcasting: two operands (Add, Mod, BitShift...), any number (Sum, Max...), and Where.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/elements.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/elementwise.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// Integers wrap around: computed unsigned, as two's complement defines it.
template <typename T, typename F>
T Wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

struct Add {
  template <typename T>
  static T Of(T a, T b) {
    return Wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <typename T>
  static T Of(T a, T b) {
    return Wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Mul {
  template <typename T>
  static T Of(T a, T b) {
    return Wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
// Integers truncate; by zero gives 0, the smallest by -1 gives itself: never a trap.
struct Div {
  template <typename T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return Sub::Of(T{0}, a);
      }
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};
// NaN on either side gives NaN.
template <bool largest>
struct Extreme {
  template <typename T>
  static T Of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    }
    return (largest ? a < b : b < a) ? b : a;
  }
};
using Max = Extreme<true>;
using Min = Extreme<false>;
// Sign of the divisor (Python's %); modulo zero gives 0.
struct FloorMod {
  template <typename T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
        const T r = static_cast<T>(a % b);
        return static_cast<T>(r != 0 && (r < 0) != (b < 0) ? r + b : r);
      } else {
        return static_cast<T>(a % b);
      }
    } else {
      const T r = std::fmod(a, b);
      return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
  }
};
// Sign of the dividend (C's fmod); modulo zero gives 0 for integers.
struct TruncatedMod {
  template <typename T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
      }
      return static_cast<T>(a % b);
    } else {
      return std::fmod(a, b);
    }
  }
};
struct BitwiseAnd {
  template <typename T>
  static T Of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  template <typename T>
  static T Of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  template <typename T>
  static T Of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
// Shifts past the width give 0.
// By a negative number of bits, or as many as there are: what is left is the sign.
template <typename T>
bool ShiftsAllOut(T bits) {
  return static_cast<std::make_unsigned_t<T>>(bits) >= sizeof(T) * 8;
}
struct ShiftLeft {
  template <typename T>
  static T Of(T a, T b) {
    return ShiftsAllOut(b) ? T{0} : static_cast<T>(static_cast<uint64_t>(a) << b);
  }
};
struct ShiftRight {
  template <typename T>
  static T Of(T a, T b) {
    if (!ShiftsAllOut(b)) return static_cast<T>(a >> b);
    if constexpr (std::is_signed_v<T>) return a < 0 ? T{-1} : T{0};
    return T{0};
  }
};
struct PRelu {
  template <typename T>
  static T Of(T a, T slope) {
    return a < 0 ? Mul::Of(a, slope) : a;
  }
};

// Nanoseconds an element.
constexpr double kWork = 0.5;

template <typename F, typename T>
Result<ReferenceRoutine> BinaryRoutine(const ReferenceSite& site, const std::vector<int64_t>& out_dims) {
  return PairRoutine(MakeBroadcast<2>({site.in[0].dims, site.in[1].dims}, out_dims), PairingOf<T, T, F>(kWork));
}

Result<std::vector<int64_t>> BinaryDims(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  if (site.in[0].type != site.in[1].type) return site.Invalid("its inputs are of different types");
  PT_ASSIGN(std::vector<int64_t> dims, BroadcastDims(site, site.in));
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  return dims;
}

template <typename F>
Result<ReferenceRoutine> Binary(ReferenceSite& site) {
  PT_ASSIGN(const std::vector<int64_t> dims, BinaryDims(site));
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() { return BinaryRoutine<F, T>(site, dims); });
}

template <typename F>
Result<ReferenceRoutine> IntegerBinary(ReferenceSite& site) {
  PT_ASSIGN(const std::vector<int64_t> dims, BinaryDims(site));
  return VisitIntegers(site, site.in[0].type, [&]<typename T>() { return BinaryRoutine<F, T>(site, dims); });
}

Result<ReferenceRoutine> Mod(ReferenceSite& site) {
  return IsTruncatedModulo(site.node) ? Binary<TruncatedMod>(site) : Binary<FloorMod>(site);
}

Result<ReferenceRoutine> BitShift(ReferenceSite& site) {
  PT_ASSIGN(const std::vector<int64_t> dims, BinaryDims(site));
  PT_ASSIGN(const bool left, OrInvalid(ShiftsLeft(site.node), site));
  return VisitIntegers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return left ? BinaryRoutine<ShiftLeft, T>(site, dims) : BinaryRoutine<ShiftRight, T>(site, dims);
  });
}

// a · sigmoid(alpha · a) · b
Result<ReferenceRoutine> SwiGlu(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  if (site.in[1].type != site.in[0].type) return site.Invalid("its inputs are of different types");
  PT_CHECK_OK(site.NeedDims(1, "the value input", site.in[0].dims));
  PT_CHECK_OK(site.Out(0, site.in[0].type, site.in[0].dims));
  const double alpha = ReadActivation(site.node).alpha;
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[alpha, count = site.in[0].count()](const TensorCall& run) -> Status {
      ParallelRanges(run.team, count, 10, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto gate = static_cast<double>(run.in<T>(0)[i]), value = static_cast<double>(run.in<T>(1)[i]);
          run.out<T>()[i] = static_cast<T>(gate * (1 / (1 + std::exp(-alpha * gate))) * value);
        }
      });
      return {};
    }};
  });
}

Result<ReferenceRoutine> MakePRelu(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  if (site.in[0].type != site.in[1].type) return site.Invalid("its inputs are of different types");
  PT_ASSIGN(const std::vector<int64_t> dims, BroadcastDims(site, site.in));
  if (dims != site.in[0].dims) return site.Invalid("the slope does not broadcast to the input");
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() { return BinaryRoutine<PRelu, T>(site, dims); });
}

// The exponent may be of another type; the result has the base's.
template <typename T>
T IntegerPower(T base, int64_t exponent) {
  if (exponent < 0)
    return static_cast<T>(base == 1 ? 1 : base == static_cast<T>(-1) ? (exponent % 2 != 0 ? -1 : 1) : 0);
  T result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = Mul::Of(result, base);
    base = Mul::Of(base, base);
  }
  return result;
}

template <typename T>
T Power(T base, double exponent) {
  if constexpr (std::is_integral_v<T>) {
    const double wide = std::pow(static_cast<double>(base), exponent);
    if (!(wide >= static_cast<double>(std::numeric_limits<T>::min()))) return std::numeric_limits<T>::min();
    if (wide >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(wide);
  } else {
    return exponent == 2 ? base * base : static_cast<T>(std::pow(base, static_cast<T>(exponent)));
  }
}

// E: int64_t or double, as which exponents of all types are read.
template <typename T, typename E>
ReferenceRoutine PowRoutine(const Broadcast<2>& broadcast, DataType exponent_type) {
  return {[broadcast, exponent_type](const TensorCall& run) -> Status {
    broadcast.ForEachRow(run.team, 20, [&](int64_t at, const auto& from, const auto& steps, int64_t n) {
      const T* base = run.in<T>(0) + from[0];
      T* out = run.out<T>() + at;
      for (int64_t i = 0; i < n; ++i) {
        const auto exponent = LoadAs<E>(exponent_type, run.in<void>(1), from[1] + i * steps[1]);
        if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
          out[i] = IntegerPower(base[i * steps[0]], exponent);
        } else {
          out[i] = Power(base[i * steps[0]], static_cast<double>(exponent));
        }
      }
    });
    return {};
  }};
}

Result<ReferenceRoutine> Pow(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  PT_ASSIGN(const std::vector<int64_t> dims, BroadcastDims(site, site.in));
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  const auto broadcast = MakeBroadcast<2>({site.in[0].dims, site.in[1].dims}, dims);
  const DataType exponent = site.in[1].type;
  PT_CHECK_OK(NeedLoadable(site, 1));
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    if (IsInteger(exponent)) return PowRoutine<T, int64_t>(broadcast, exponent);
    return PowRoutine<T, double>(broadcast, exponent);
  });
}

template <typename T>
void Divide(void* data, int64_t count, size_t divisor) {
  T* out = static_cast<T*>(data);
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(static_cast<double>(out[i]) / static_cast<double>(divisor));
}

// The result so far with the next input, one after the other; then `finish`, if any, with their number.
ReferenceRoutine FoldRoutine(std::vector<Broadcast<2>> steps, Pairing pairing, int64_t count,
                             void (*finish)(void* data, int64_t count, size_t inputs)) {
  return {[steps = std::move(steps), pairing, count, finish](const TensorCall& run) -> Status {
    void* out = run.out<void>();
    if (run.inputs.size() == 1) {
      const void* in = run.in<void>(0);
      if (in != out && count > 0) std::memcpy(out, in, static_cast<size_t>(count) * pairing.out_bytes);
      return {};
    }
    for (size_t k = 0; k < steps.size(); ++k) {
      RunPairs(steps[k], pairing, run.team, k == 0 ? run.in<void>(0) : out, run.in<void>(k + 1), out);
    }
    if (finish != nullptr) finish(out, count, run.inputs.size());
    return {};
  }};
}

// out = f(f(in0, in1), in2)...; with `mean`, divided by their number.
template <typename F, bool mean = false>
Result<ReferenceRoutine> Variadic(ReferenceSite& site) {
  if (site.in.empty()) return site.Invalid("has no inputs");
  PT_CHECK_OK(site.NeedInputs(site.in.size(), site.in.size()));
  for (const TensorFacts& input : site.in) {
    if (input.type != site.in[0].type) return site.Invalid("its inputs are of different types");
  }
  PT_ASSIGN(const std::vector<int64_t> dims, BroadcastDims(site, site.in));
  PT_CHECK_OK(site.Out(0, site.in[0].type, dims));
  std::vector<Broadcast<2>> steps;  // of (result so far, next input)
  if (site.in.size() == 1) {
    steps.push_back(MakeBroadcast<2>({site.in[0].dims, site.in[0].dims}, dims));
  }
  for (size_t i = 1; i < site.in.size(); ++i) {
    steps.push_back(MakeBroadcast<2>({i == 1 ? site.in[0].dims : dims, site.in[i].dims}, dims));
  }
  const int64_t count = site.out[0].settled ? TensorFacts{DataType::kFloat32, dims, {}, true}.count() : 0;
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    void (*finish)(void*, int64_t, size_t) = nullptr;
    if constexpr (mean) finish = Divide<T>;
    return FoldRoutine(std::move(steps), PairingOf<T, T, F>(kWork), count, finish);
  });
}

Result<ReferenceRoutine> Where(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(3, 3));
  if (site.in[0].type != DataType::kBool) return site.Invalid("the condition is not boolean");
  if (site.in[1].type != site.in[2].type) return site.Invalid("its inputs are of different types");
  PT_ASSIGN(const std::vector<int64_t> dims, BroadcastDims(site, site.in));
  PT_CHECK_OK(site.Out(0, site.in[1].type, dims));
  const auto broadcast = MakeBroadcast<3>({site.in[0].dims, site.in[1].dims, site.in[2].dims}, dims);
  return VisitSizes(site, site.in[1].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[broadcast](const TensorCall& run) -> Status {
      broadcast.ForEachRow(run.team, 1, [&](int64_t at, const auto& from, const auto& steps, int64_t n) {
        const uint8_t* condition = run.in<uint8_t>(0) + from[0];
        const T* yes = run.in<T>(1) + from[1];
        const T* no = run.in<T>(2) + from[2];
        T* out = run.out<T>() + at;
        for (int64_t i = 0; i < n; ++i) {
          out[i] = condition[i * steps[0]] != 0 ? yes[i * steps[1]] : no[i * steps[2]];
        }
      });
      return {};
    }};
  });
}

constexpr std::array kArithmeticOperators = {
    ReferenceRow{.op = "Add", .make = Binary<Add>, .feeding = Feeding::kWidened, .since = 7, .in_place = true},
    ReferenceRow{.op = "Sub", .make = Binary<Sub>, .feeding = Feeding::kWidened, .since = 7, .in_place = true},
    ReferenceRow{.op = "Mul", .make = Binary<Mul>, .feeding = Feeding::kWidened, .since = 7, .in_place = true},
    ReferenceRow{.op = "Div", .make = Binary<Div>, .feeding = Feeding::kWidened, .since = 7, .in_place = true},
    ReferenceRow{.op = "Mod", .make = Mod, .feeding = Feeding::kWidened, .in_place = true},
    ReferenceRow{.op = "Pow", .make = Pow, .feeding = Feeding::kWidened, .since = 7},
    ReferenceRow{.op = "PRelu", .make = MakePRelu, .feeding = Feeding::kWidened, .since = 7},
    ReferenceRow{.op = "BitShift", .make = BitShift, .in_place = true},
    ReferenceRow{.op = "BitwiseAnd", .make = IntegerBinary<BitwiseAnd>, .in_place = true},
    ReferenceRow{.op = "BitwiseOr", .make = IntegerBinary<BitwiseOr>, .in_place = true},
    ReferenceRow{.op = "BitwiseXor", .make = IntegerBinary<BitwiseXor>, .in_place = true},
    ReferenceRow{.op = "Sum", .make = Variadic<Add>, .feeding = Feeding::kWidened, .since = 8},
    ReferenceRow{.op = "Mean", .make = Variadic<Add, true>, .feeding = Feeding::kWidened, .since = 8},
    ReferenceRow{.op = "Max", .make = Variadic<Max>, .feeding = Feeding::kWidened, .since = 8},
    ReferenceRow{.op = "Min", .make = Variadic<Min>, .feeding = Feeding::kWidened, .since = 8},
    ReferenceRow{.op = "SwiGLU", .make = SwiGlu, .feeding = Feeding::kWidened, .since = 28, .in_place = true},
    ReferenceRow{.op = "Where", .make = Where},
};

}  // namespace

std::span<const ReferenceRow> ArithmeticOperators() { return kArithmeticOperators; }

}  // namespace pt::reference
