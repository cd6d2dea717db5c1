// Functions of vectors over the whole range of float32, in every instruction set that they are compiled for.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "test/backend/vector_math_test.cc"
#include <hwy/foreach_target.h>
// After the targets.
#include <hwy/highway.h>

#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lib/backend/host/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pt::vector_math::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace vm = vector_math::HWY_NAMESPACE;

// Of a whole number of vectors, whatever their width.
template <class F>
void Map(const float* x, size_t count, float* y, F f) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
}

#define PT_MAPPED(name, expression)                                                \
  void name(const float* x, size_t count, float* y) {                              \
    Map(x, count, y, [](auto d, auto v) HWY_ATTR { return (void)d, expression; }); \
  }
PT_MAPPED(MapExp, vm::Exp(d, v))
PT_MAPPED(MapFlushedExp, vm::FlushedExpOfMinus(d, hn::Abs(v)))
PT_MAPPED(MapLog, vm::Log(d, v))
PT_MAPPED(MapSigmoid, vm::Sigmoid(d, v))
PT_MAPPED(MapSoftplus, vm::Softplus(d, v))
PT_MAPPED(MapTanh, vm::Tanh(d, v))
PT_MAPPED(MapErf, vm::Erf(d, v))
#undef PT_MAPPED

}  // namespace
}  // namespace pt::vector_math::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pt::vector_math {
namespace {

HWY_EXPORT(MapExp);
HWY_EXPORT(MapFlushedExp);
HWY_EXPORT(MapLog);
HWY_EXPORT(MapSigmoid);
HWY_EXPORT(MapSoftplus);
HWY_EXPORT(MapTanh);
HWY_EXPORT(MapErf);

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeastNormal = std::numeric_limits<float>::min();

struct FunctionRow {
  const char* name;
  void (*map)(const float*, size_t, float*);
  double (*exact)(double);
  double most_ulps;  // as vector_math-inl.h says
  // Results below this may be 0.
  double flushed_below = 0;
};

double ExactSoftplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double ExactSigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

// Through the table of instruction sets: the functions of the one that is allowed when they are called.
const std::vector<FunctionRow>& Functions() {
  static const std::vector<FunctionRow> rows = {
      {"Exp",
       [](auto... a) {
         HWY_DYNAMIC_DISPATCH(MapExp)
         (a...);
       },
       [](double x) { return std::exp(x); }, 1.5},
      {"FlushedExpOfMinus",
       [](auto... a) {
         HWY_DYNAMIC_DISPATCH(MapFlushedExp)
         (a...);
       },
       [](double x) { return std::exp(-std::fabs(x)); }, 1.5, 1.65e-38},
      {"Log",
       [](auto... a) {
         HWY_DYNAMIC_DISPATCH(MapLog)
         (a...);
       },
       [](double x) { return std::log(x); }, 1},
      {"Sigmoid",
       [](auto... a) {
         HWY_DYNAMIC_DISPATCH(MapSigmoid)
         (a...);
       },
       ExactSigmoid, 2.5},
      {"Softplus",
       [](auto... a) {
         HWY_DYNAMIC_DISPATCH(MapSoftplus)
         (a...);
       },
       ExactSoftplus, 3},
      {"Tanh",
       [](auto... a) {
         HWY_DYNAMIC_DISPATCH(MapTanh)
         (a...);
       },
       [](double x) { return std::tanh(x); }, 2},
      {"Erf",
       [](auto... a) {
         HWY_DYNAMIC_DISPATCH(MapErf)
         (a...);
       },
       [](double x) { return std::erf(x); }, 2.5},
  };
  return rows;
}

// In units in the last place of the exact value. Infinite where only one of them is NaN or infinite.
double UlpsBetween(float got, double exact) {
  const auto near = static_cast<float>(exact);
  if (std::isnan(near) || std::isinf(near)) {
    return std::isnan(got) == std::isnan(near) && (std::isnan(near) || got == near) ? 0 : kInf;
  }
  int exponent = 0;
  std::frexp(std::fmax(std::fabs(exact), kLeastNormal), &exponent);
  const double ulps = std::fabs(got - exact) / std::ldexp(1.0, exponent - std::numeric_limits<float>::digits);
  return std::isnan(ulps) ? kInf : ulps;
}

// Floats of every sign and exponent, infinities and NaN among them, in steps that no pattern of the bits follows.
void CheckOverTheWholeRange(const FunctionRow& function) {
  constexpr uint32_t kStep = 3001;
  std::vector<float> x(4096), y(x.size());
  double most = 0;
  float where = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32;) {
    for (float& v : x) v = std::bit_cast<float>(static_cast<uint32_t>(std::exchange(bits, bits + kStep)));
    function.map(x.data(), x.size(), y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = function.exact(x[i]), ulps = UlpsBetween(y[i], want);
      const bool flushed = y[i] == 0 && std::fabs(want) < function.flushed_below;
      if (!flushed && ulps > most) {
        most = ulps;
        where = x[i];
      }
    }
  }
  INFO("the largest error is at " << where);
  CHECK(most < function.most_ulps);
}

}  // namespace

TEST_CASE("VectorMath, EveryFunctionIsExactToAFewUnitsOverTheWholeRange", "[backend]") {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    INFO(hwy::TargetName(target));
    for (const FunctionRow& function : Functions()) {
      INFO(function.name);
      CheckOverTheWholeRange(function);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_CASE("VectorMath, InfinitiesGiveTheLimitsNanStaysAndZerosKeepTheirSign", "[backend]") {
  constexpr std::array<float, 16> kEdges{kInf, -kInf, kNan, -kNan, 0.0F, -0.0F};
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    INFO(hwy::TargetName(target));
    for (const FunctionRow& function : Functions()) {
      INFO(function.name);
      std::array<float, 16> y{};
      function.map(kEdges.data(), kEdges.size(), y.data());
      for (size_t i = 0; i < 6; ++i) {
        const auto want = static_cast<float>(function.exact(kEdges[i]));
        INFO(kEdges[i] << " gives " << y[i]);
        CHECK((std::isnan(want) ? std::isnan(y[i]) : UlpsBetween(y[i], want) < function.most_ulps));
        if (want == 0) CHECK(std::signbit(want) == std::signbit(y[i]));
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace pt::vector_math
#endif
