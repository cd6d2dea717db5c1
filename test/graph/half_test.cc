// Conversions of 16-bit floats, over all of their values and over the floats around and between them.
#include "partitiontuner/graph/half.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace pt::half_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool IsNan(Half h) { return (h.bits & 0x7C00) == 0x7C00 && (h.bits & 0x3FF) != 0; }
bool IsNan(Bfloat16 b) { return (b.bits & 0x7F80) == 0x7F80 && (b.bits & 0x7F) != 0; }

// The value of a binary16 by its definition.
double HalfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == 31) return sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

// Every positive number of a format with its next greater one: what lies between them rounds to the nearer, the middle
// to the even one. `Read` and `Write` are the conversions.
template <typename Narrow, typename Write>
int WrongRoundings(uint16_t infinity, Write write) {
  int wrong = 0;
  const auto check = [&](float value, uint16_t expected) {
    wrong += write(value).bits != expected;
    wrong += write(-value).bits != (expected | 0x8000);
  };
  for (uint16_t code = 0; code + 1 < infinity; ++code) {
    const auto next = static_cast<uint16_t>(code + 1);
    const float low = ToFloat(Narrow{code}), high = ToFloat(Narrow{next});
    const auto middle = static_cast<float>((static_cast<double>(low) + static_cast<double>(high)) / 2);
    check(low, code);
    if (middle == low || middle == high) continue;  // below the smallest float32 there is nothing between
    check(middle, code % 2 == 0 ? code : next);
    check(std::nextafter(middle, low), code);
    check(std::nextafter(middle, high), next);
    check(std::nextafter(high, low), std::nextafter(high, low) > middle ? next : (code % 2 == 0 ? code : next));
  }
  return wrong;
}

TEST_CASE("Half, AllValuesAreReadByTheirDefinition", "[graph]") {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half h{static_cast<uint16_t>(bits)};
    const float value = ToFloat(h);
    if (IsNan(h)) {
      wrong += !std::isnan(value) || std::signbit(value) != (bits >> 15 != 0);
    } else {
      wrong += static_cast<double>(value) != HalfValue(h.bits) || std::signbit(value) != (bits >> 15 != 0);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("Half, AllValuesSurviveTheWayThroughFloat", "[graph]") {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half h{static_cast<uint16_t>(bits)};
    const Bfloat16 b{static_cast<uint16_t>(bits)};
    wrong += IsNan(h) ? !IsNan(ToHalf(ToFloat(h))) : ToHalf(ToFloat(h)).bits != bits;
    wrong += IsNan(b) ? !IsNan(ToBfloat16(ToFloat(b))) : ToBfloat16(ToFloat(b)).bits != bits;
  }
  CHECK(wrong == 0);
}

TEST_CASE("Half, FloatsRoundToTheNearestAndTiesToEven", "[graph]") {
  CHECK(WrongRoundings<Half>(0x7C00, [](float f) { return ToHalf(f); }) == 0);
  CHECK(WrongRoundings<Bfloat16>(0x7F80, [](float f) { return ToBfloat16(f); }) == 0);
}

TEST_CASE("Half, WhatRoundsBeyondTheLargestIsInfinite", "[graph]") {
  CHECK(ToHalf(65504.0F).bits == 0x7BFF);
  CHECK(ToHalf(std::nextafter(65520.0F, 0.0F)).bits == 0x7BFF);
  CHECK(ToHalf(65520.0F).bits == 0x7C00);  // a tie: the even one is beyond
  CHECK(ToHalf(-65520.0F).bits == 0xFC00);
  CHECK(ToHalf(std::numeric_limits<float>::max()).bits == 0x7C00);
  CHECK(ToHalf(kInfinity).bits == 0x7C00);
  CHECK(ToHalf(-kInfinity).bits == 0xFC00);
  CHECK(ToBfloat16(std::numeric_limits<float>::max()).bits == 0x7F80);
  CHECK(ToBfloat16(std::bit_cast<float>(0x7F7F7FFFU)).bits == 0x7F7F);
  CHECK(ToBfloat16(kInfinity).bits == 0x7F80);
}

TEST_CASE("Half, NothingSmallerThanHalfTheLeastSubnormalIsLeft", "[graph]") {
  CHECK(ToHalf(0x1p-24F).bits == 1);
  CHECK(ToHalf(std::nextafter(0x1p-25F, 1.0F)).bits == 1);
  CHECK(ToHalf(0x1p-25F).bits == 0);  // a tie with zero
  CHECK(ToHalf(-0x1p-25F).bits == 0x8000);
  CHECK(ToHalf(std::numeric_limits<float>::denorm_min()).bits == 0);
}

// Among them those whose payload would not survive the cut: they must not become infinities.
TEST_CASE("Half, NanStaysNan", "[graph]") {
  for (const uint32_t payload : {1U, 0x1FFFU, 0xFFFFU, 0x400000U, 0x7FFFFFU}) {
    for (const uint32_t sign : {0U, 0x80000000U}) {
      const float nan = std::bit_cast<float>(sign | 0x7F800000U | payload);
      CHECK(IsNan(ToHalf(nan)));
      CHECK(IsNan(ToBfloat16(nan)));
      CHECK(ToHalf(nan).bits >> 15 == sign >> 31);
      CHECK(ToBfloat16(nan).bits >> 15 == sign >> 31);
    }
  }
}

}  // namespace
}  // namespace pt::half_test
