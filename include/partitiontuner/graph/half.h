// The two 16-bit floats, and their conversions: the one place where their rounding is decided.
#pragma once

#include <bit>
#include <cstdint>

namespace pt {

struct Half {  // IEEE binary16
  uint16_t bits = 0;
};
struct Bfloat16 {  // the upper half of a float32
  uint16_t bits = 0;
};

// Exact. NaN stays NaN and keeps what fits of its payload.
inline float ToFloat(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000U) << 16;
  const uint32_t exponent = (h.bits >> 10) & 31U;
  const uint32_t mantissa = h.bits & 0x3FFU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}
inline float ToFloat(Bfloat16 b) { return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }

// Nearest, ties to even; what rounds beyond the largest number becomes infinity; NaN becomes a quiet NaN.
inline Half ToHalf(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return {static_cast<uint16_t>(sign | 0x7E00U)};
  if (magnitude >= 0x477FF000U) return {static_cast<uint16_t>(sign | 0x7C00U)};  // rounds past 65504
  if (magnitude < 0x38800000U) {  // subnormal: let the float adder round to multiples of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U))};
  }
  const uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U) - (112U << 23);
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
}
inline Bfloat16 ToBfloat16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
}

// The float32 on the way from a double to something much narrower: the exact one, or else of the two around the double
// the one with an odd last bit, which no later rounding takes for a tie.
inline float RoundToOdd(double d) {
  const float f = static_cast<float>(d);
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const bool exact = static_cast<double>(f) == d || (bits & 0x7F800000U) == 0x7F800000U;
  if (exact || (bits & 1U) != 0) return f;
  // Magnitudes are ordered as their bits are, and both neighbours of an even f are odd.
  if (f == 0) return std::bit_cast<float>(d < 0 ? 0x80000001U : 1U);
  const bool grows = (static_cast<double>(f) < d) == (f > 0);
  return std::bit_cast<float>(grows ? bits + 1 : bits - 1);
}
// One rounding, as from a float.
inline Half ToHalf(double d) { return ToHalf(RoundToOdd(d)); }
inline Bfloat16 ToBfloat16(double d) { return ToBfloat16(RoundToOdd(d)); }

}  // namespace pt
