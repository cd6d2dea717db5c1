// One operand, element by element: Relu, Exp, Sign, Clip...
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "lib/backend/reference/elements.h"
#include "lib/backend/reference/small_floats.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/elementwise.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// y = f(x) for each element; f is a value that carries its parameters.
template <typename T, typename F>
ReferenceRoutine Elementwise(int64_t count, double work, F f) {
  return MapRoutine(count, MapOf<T>(work, f));
}

Status SameAsInput(ReferenceSite& site, size_t inputs = 1) {
  PT_CHECK_OK(site.NeedInputs(1, inputs));
  return site.Out(0, site.in[0].type, site.in[0].dims);
}

// F::Of(x) for floats.
template <typename F>
Result<ReferenceRoutine> Float(ReferenceSite& site) {
  PT_CHECK_OK(SameAsInput(site));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return Elementwise<T>(site.in[0].count(), F::kWork, [](T x) { return F::Of(x); });
  });
}

#define PT_FLOAT_FUNCTION(name, work, expression) \
  struct name {                                   \
    static constexpr double kWork = work;         \
    template <typename T>                         \
    static T Of(T x) {                            \
      return expression;                          \
    }                                             \
  }
PT_FLOAT_FUNCTION(Acos, 10, std::acos(x));
PT_FLOAT_FUNCTION(Acosh, 10, std::acosh(x));
PT_FLOAT_FUNCTION(Asin, 10, std::asin(x));
PT_FLOAT_FUNCTION(Asinh, 10, std::asinh(x));
PT_FLOAT_FUNCTION(Atan, 10, std::atan(x));
PT_FLOAT_FUNCTION(Atanh, 10, std::atanh(x));
PT_FLOAT_FUNCTION(Ceil, 1, std::ceil(x));
PT_FLOAT_FUNCTION(Cos, 10, std::cos(x));
PT_FLOAT_FUNCTION(Cosh, 10, std::cosh(x));
PT_FLOAT_FUNCTION(Erf, 10, std::erf(x));
PT_FLOAT_FUNCTION(Exp, 5, std::exp(x));
PT_FLOAT_FUNCTION(Floor, 1, std::floor(x));
PT_FLOAT_FUNCTION(HardSwish, 1, x* std::fmax(T{0}, std::fmin(T{1}, x / T{6} + T{0.5})));
PT_FLOAT_FUNCTION(Log, 5, std::log(x));
PT_FLOAT_FUNCTION(Reciprocal, 1, T{1} / x);
PT_FLOAT_FUNCTION(Round, 2, std::nearbyint(x));
PT_FLOAT_FUNCTION(Sin, 10, std::sin(x));
PT_FLOAT_FUNCTION(Sinh, 10, std::sinh(x));
PT_FLOAT_FUNCTION(Mish, 20, x* std::tanh(std::fmax(x, T{0}) + std::log1p(std::exp(-std::fabs(x)))));
PT_FLOAT_FUNCTION(Softplus, 10, std::fmax(x, T{0}) + std::log1p(std::exp(-std::fabs(x))));
PT_FLOAT_FUNCTION(Softsign, 1, x / (T{1} + std::fabs(x)));
PT_FLOAT_FUNCTION(Sqrt, 2, std::sqrt(x));
PT_FLOAT_FUNCTION(Tan, 10, std::tan(x));
PT_FLOAT_FUNCTION(Tanh, 8, std::tanh(x));
#undef PT_FLOAT_FUNCTION

// Of the falling side, so that nothing overflows and small results keep their digits.
struct Sigmoid {
  static constexpr double kWork = 8;
  template <typename T>
  static T Of(T x) {
    const T e = std::exp(-std::fabs(x));
    return (x < 0 ? e : T{1}) / (T{1} + e);
  }
};

struct Abs {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(x);
    } else if constexpr (std::is_signed_v<T>) {
      return x < 0 ? static_cast<T>(-static_cast<uint64_t>(x)) : x;  // the smallest stays itself
    } else {
      return x;
    }
  }
};
struct Neg {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return static_cast<T>(-static_cast<uint64_t>(x));
    }
  }
};
struct Relu {
  template <typename T>
  T operator()(T x) const {
    return x < T{0} ? T{0} : x;
  }  // NaN passes
};
struct Sign {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x)) return x;
    }
    return static_cast<T>((T{0} < x ? 1 : 0) - (x < T{0} ? 1 : 0));
  }
};
struct BitwiseNot {
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(~x);
  }
};

template <typename F>
Result<ReferenceRoutine> Number(ReferenceSite& site) {
  PT_CHECK_OK(SameAsInput(site));
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return Elementwise<T>(site.in[0].count(), 0.3, F());
  });
}

Result<ReferenceRoutine> Not(ReferenceSite& site) {
  PT_CHECK_OK(SameAsInput(site));
  if (site.in[0].type != DataType::kBool) return site.Invalid("its input is not boolean");
  return Elementwise<uint8_t>(site.in[0].count(), 0.2, [](uint8_t x) { return static_cast<uint8_t>(x == 0); });
}

Result<ReferenceRoutine> MakeBitwiseNot(ReferenceSite& site) {
  PT_CHECK_OK(SameAsInput(site));
  return VisitIntegers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return Elementwise<T>(site.in[0].count(), 0.3, BitwiseNot());
  });
}

// make(T{}) gives the element function for T.
template <typename F>
Result<ReferenceRoutine> WithParameters(ReferenceSite& site, double work, F&& make) {
  PT_CHECK_OK(SameAsInput(site));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return Elementwise<T>(site.in[0].count(), work, make(T{}));
  });
}

Result<ReferenceRoutine> Celu(ReferenceSite& site) {
  const float alpha = ReadActivation(site.node).alpha;
  return WithParameters(site, 8, [=](auto zero) {
    using T = decltype(zero);
    return [a = static_cast<T>(alpha)](T x) { return x > 0 ? x : a * std::expm1(x / a); };
  });
}

Result<ReferenceRoutine> Elu(ReferenceSite& site) {
  const float alpha = ReadActivation(site.node).alpha;
  return WithParameters(site, 8, [=](auto zero) {
    using T = decltype(zero);
    return [a = static_cast<T>(alpha)](T x) { return x < 0 ? a * std::expm1(x) : x; };
  });
}

Result<ReferenceRoutine> Selu(ReferenceSite& site) {
  const auto [alpha, gamma] = ReadActivation(site.node);
  return WithParameters(site, 8, [alpha = alpha, gamma = gamma](auto zero) {
    using T = decltype(zero);
    return [a = static_cast<T>(alpha), g = static_cast<T>(gamma)](T x) { return g * (x > 0 ? x : a * std::expm1(x)); };
  });
}

Result<ReferenceRoutine> LeakyRelu(ReferenceSite& site) {
  const float alpha = ReadActivation(site.node).alpha;
  return WithParameters(site, 0.5, [=](auto zero) {
    using T = decltype(zero);
    return [a = static_cast<T>(alpha)](T x) { return x < 0 ? a * x : x; };
  });
}

Result<ReferenceRoutine> HardSigmoid(ReferenceSite& site) {
  const auto [alpha, beta] = ReadActivation(site.node);
  return WithParameters(site, 0.5, [alpha = alpha, beta = beta](auto zero) {
    using T = decltype(zero);
    return [a = static_cast<T>(alpha), b = static_cast<T>(beta)](T x) {
      const T y = a * x + b;
      return y > T{1} ? T{1} : y < T{0} ? T{0} : y;
    };
  });
}

Result<ReferenceRoutine> ThresholdedRelu(ReferenceSite& site) {
  const float alpha = ReadActivation(site.node).alpha;
  return WithParameters(site, 0.5, [=](auto zero) {
    using T = decltype(zero);
    return [a = static_cast<T>(alpha)](T x) { return x > a ? x : T{0}; };
  });
}

Result<ReferenceRoutine> Shrink(ReferenceSite& site) {
  PT_CHECK_OK(SameAsInput(site));
  const auto read = ReadActivation(site.node);
  const float lambd = read.alpha, bias = read.beta;
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return Elementwise<T>(site.in[0].count(), 1, [=](T x) {
      const auto wide = static_cast<double>(x);
      return wide < -lambd ? static_cast<T>(wide + bias) : wide > lambd ? static_cast<T>(wide - bias) : T{0};
    });
  });
}

Result<ReferenceRoutine> Swish(ReferenceSite& site) {
  const float alpha = ReadActivation(site.node).alpha;
  return WithParameters(site, 8, [=](auto zero) {
    using T = decltype(zero);
    return [a = static_cast<T>(alpha)](T x) { return x * Sigmoid::Of(a * x); };
  });
}

Result<ReferenceRoutine> Gelu(ReferenceSite& site) {
  PT_ASSIGN(const GeluForm form, OrInvalid(ReadGelu(site.node), site));
  if (form == GeluForm::kTanh) {
    return WithParameters(site, 10, [](auto zero) {
      using T = decltype(zero);
      return [](T x) {
        return x / 2 * (1 + std::tanh(static_cast<T>(0.7978845608028654) * (x + static_cast<T>(0.044715) * x * x * x)));
      };
    });
  }
  return WithParameters(site, 10, [](auto zero) {
    using T = decltype(zero);
    return [](T x) { return x / 2 * (1 + std::erf(x * static_cast<T>(0.7071067811865476))); };
  });
}

// The bounds are inputs (attributes before opset 11) and may be known only at run time.
Result<ReferenceRoutine> Clip(ReferenceSite& site) {
  PT_CHECK_OK(SameAsInput(site, 3));
  for (size_t i = 1; i < site.in.size(); ++i) {
    if (site.has(i) && (site.in[i].type != site.in[0].type || site.in[i].count() != 1))
      return site.Invalid("a bound is not a scalar of the input's type");
  }
  const auto bounds = ReadNamedBounds(site.node);
  const bool low_given = site.has(1), high_given = site.has(2);
  return VisitNumbers(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    T lowest = std::numeric_limits<T>::lowest(), highest = std::numeric_limits<T>::max();
    if constexpr (std::is_floating_point_v<T>) {
      lowest = static_cast<T>(bounds.low);
      highest = static_cast<T>(bounds.high);
    }
    return ReferenceRoutine{[=, count = site.in[0].count()](const TensorCall& run) -> Status {
      const T low = low_given ? *run.in<T>(1) : lowest;
      const T high = high_given ? *run.in<T>(2) : highest;
      const T* in = run.in<T>(0);
      T* out = run.out<T>();
      ParallelRanges(run.team, count, 0.3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const T raised = in[i] < low ? low : in[i];
          out[i] = high < raised ? high : raised;
        }
      });
      return {};
    }};
  });
}

// Float to boolean: IsNaN, IsInf. Small floats have few codes, each with one answer.
template <typename F>
Result<ReferenceRoutine> Test(ReferenceSite& site, F&& test) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_CHECK_OK(site.Out(0, DataType::kBool, site.in[0].dims));
  if (const std::optional<SmallFloat> format = SmallFloatOf(site.in[0].type)) {
    std::array<uint8_t, 256> answers{};
    for (size_t code = 0; code < answers.size(); ++code) {
      answers[code] = test(DecodeSmallFloat(*format, static_cast<uint8_t>(code))) ? 1 : 0;
    }
    return Elementwise<uint8_t>(site.in[0].count(), 0.5, [answers](uint8_t code) { return answers[code]; });
  }
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return Elementwise<T>(site.in[0].count(), 0.5, [test](T x) { return static_cast<uint8_t>(test(x) ? 1 : 0); });
  });
}

Result<ReferenceRoutine> IsNan(ReferenceSite& site) {
  return Test(site, [](auto x) { return std::isnan(x); });
}

Result<ReferenceRoutine> IsInf(ReferenceSite& site) {
  const IsInfNode node = ReadIsInf(site.node);
  return Test(site, [node](auto x) { return std::isinf(x) && (x < 0 ? node.negative : node.positive); });
}

constexpr ReferenceRow Row(std::string_view op, Result<ReferenceRoutine> (*make)(ReferenceSite&)) {
  return {.op = op, .make = make, .feeding = Feeding::kWidened, .in_place = true};
}

constexpr std::array kActivationOperators = {
    Row("Abs", Number<Abs>),
    Row("Acos", Float<Acos>),
    Row("Acosh", Float<Acosh>),
    Row("Asin", Float<Asin>),
    Row("Asinh", Float<Asinh>),
    Row("Atan", Float<Atan>),
    Row("Atanh", Float<Atanh>),
    Row("BitwiseNot", MakeBitwiseNot),
    Row("Ceil", Float<Ceil>),
    Row("Celu", Celu),
    Row("Clip", Clip),
    Row("Cos", Float<Cos>),
    Row("Cosh", Float<Cosh>),
    Row("Elu", Elu),
    Row("Erf", Float<Erf>),
    Row("Exp", Float<Exp>),
    Row("Floor", Float<Floor>),
    Row("Gelu", Gelu),
    Row("HardSigmoid", HardSigmoid),
    Row("HardSwish", Float<HardSwish>),
    ReferenceRow{.op = "IsInf", .make = IsInf, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "IsNaN", .make = IsNan, .feeding = Feeding::kWidened},
    Row("LeakyRelu", LeakyRelu),
    Row("Log", Float<Log>),
    Row("Mish", Float<Mish>),
    Row("Neg", Number<Neg>),
    Row("Not", Not),
    Row("Reciprocal", Float<Reciprocal>),
    Row("Relu", Number<Relu>),
    Row("Round", Float<Round>),
    Row("Selu", Selu),
    Row("Shrink", Shrink),
    Row("Sigmoid", Float<Sigmoid>),
    Row("Sign", Number<Sign>),
    Row("Sin", Float<Sin>),
    Row("Sinh", Float<Sinh>),
    Row("Softplus", Float<Softplus>),
    Row("Softsign", Float<Softsign>),
    Row("Sqrt", Float<Sqrt>),
    Row("Swish", Swish),
    Row("Tan", Float<Tan>),
    Row("Tanh", Float<Tanh>),
    Row("ThresholdedRelu", ThresholdedRelu),
};

}  // namespace

std::span<const ReferenceRow> ActivationOperators() { return kActivationOperators; }

}  // namespace pt::reference
