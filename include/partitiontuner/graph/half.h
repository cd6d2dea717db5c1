// The two 16-bit floats, and their conversions: the one place where their rounding is decided.
#pragma once

#include <bit>
#include <cstdint>

namespace pt {

// A number of type float16.
struct Half {  // IEEE binary16
  uint16_t bits = 0;
};
// A number of type bfloat16.
struct Bfloat16 {  // the upper half of a float32
  uint16_t bits = 0;
};

// All cases are computed and one is chosen, without branches, so that compilers make vectors of loops over these.

// Exact. NaN stays NaN and keeps what fits of its payload.
inline float ToFloat(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000U) << 16;
  const uint32_t exponent = (h.bits >> 10) & 31U;
  const uint32_t mantissa = h.bits & 0x3FFU;
  const uint32_t special = 0x7F800000U | (mantissa << 13);
  const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(mantissa)) * 0x1p-24F);
  const uint32_t normal = ((exponent + 112) << 23) | (mantissa << 13);
  const uint32_t finite = exponent == 0 ? subnormal : normal;
  return std::bit_cast<float>(sign | (exponent == 31 ? special : finite));
}
inline float ToFloat(Bfloat16 b) { return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }

// Nearest, ties to even; what rounds beyond the largest number becomes infinity; NaN becomes a quiet NaN.
inline Half ToHalf(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  // The float adder rounds to multiples of 2^-24.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  const uint32_t normal = (magnitude + 0xFFFU + ((magnitude >> 13) & 1U) - (112U << 23)) >> 13;
  const uint32_t finite = magnitude < 0x38800000U ? subnormal : normal;
  const uint32_t infinite = magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U;
  return {static_cast<uint16_t>(sign | (magnitude >= 0x477FF000U ? infinite : finite))};  // rounds past 65504
}
inline Bfloat16 ToBfloat16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40U;
  return {static_cast<uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet : rounded)};
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
