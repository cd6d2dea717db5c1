// Element types of the reference library: 16-bit floats as structs, and the visits that turn a DataType into a
// C++ type.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "lib/backend/reference/operator.h"

namespace pt::reference {

struct Half {
  uint16_t bits = 0;
};
struct Bfloat16 {
  uint16_t bits = 0;
};

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

// Round to nearest even; NaN stays NaN.
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

inline float ToFloat(Bfloat16 b) { return std::bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }

inline Bfloat16 ToBfloat16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
}

// visit.operator()<T>() for the C++ type of `type`; kUnsupported when the set does not hold it.
template <typename F>
Result<Program> VisitFloats(const Site& site, DataType type, F&& visit) {
  switch (type) {
    case DataType::kFloat32:
      return visit.template operator()<float>();
    case DataType::kFloat64:
      return visit.template operator()<double>();
    default:
      return site.Unsupported("is not supported for " + std::string(DataTypeName(type)));
  }
}

template <typename F>
Result<Program> VisitIntegers(const Site& site, DataType type, F&& visit) {
  switch (type) {
    case DataType::kInt8:
      return visit.template operator()<int8_t>();
    case DataType::kInt16:
      return visit.template operator()<int16_t>();
    case DataType::kInt32:
      return visit.template operator()<int32_t>();
    case DataType::kInt64:
      return visit.template operator()<int64_t>();
    case DataType::kUint8:
      return visit.template operator()<uint8_t>();
    case DataType::kUint16:
      return visit.template operator()<uint16_t>();
    case DataType::kUint32:
      return visit.template operator()<uint32_t>();
    case DataType::kUint64:
      return visit.template operator()<uint64_t>();
    default:
      return site.Unsupported("is not supported for " + std::string(DataTypeName(type)));
  }
}

template <typename F>
Result<Program> VisitNumbers(const Site& site, DataType type, F&& visit) {
  return IsInteger(type) ? VisitIntegers(site, type, visit) : VisitFloats(site, type, visit);
}

// Bytes of one element as programs see it: four- and two-bit types are fed one element a byte.
inline int64_t FedBytes(DataType type) { return BitsOf(type) != 0 && BitsOf(type) < 8 ? 1 : BytesOf(type); }

// By element size, for operators that only move bytes.
struct Bytes16 {
  uint64_t low = 0, high = 0;
};
template <typename F>
Result<Program> VisitSizes(const Site& site, DataType type, F&& visit) {
  switch (FedBytes(type)) {
    case 1:
      return visit.template operator()<uint8_t>();
    case 2:
      return visit.template operator()<uint16_t>();
    case 4:
      return visit.template operator()<uint32_t>();
    case 8:
      return visit.template operator()<uint64_t>();
    case 16:
      return visit.template operator()<Bytes16>();
    default:
      return site.Unsupported("is not supported for " + std::string(DataTypeName(type)));
  }
}

// Element i of a numeric or boolean array, as E (int64_t or double).
template <typename E>
E LoadAs(DataType type, const void* data, int64_t i) {
  switch (type) {
    case DataType::kFloat32:
      return static_cast<E>(static_cast<const float*>(data)[i]);
    case DataType::kFloat64:
      return static_cast<E>(static_cast<const double*>(data)[i]);
    case DataType::kInt8:
      return static_cast<E>(static_cast<const int8_t*>(data)[i]);
    case DataType::kInt16:
      return static_cast<E>(static_cast<const int16_t*>(data)[i]);
    case DataType::kInt32:
      return static_cast<E>(static_cast<const int32_t*>(data)[i]);
    case DataType::kInt64:
      return static_cast<E>(static_cast<const int64_t*>(data)[i]);
    case DataType::kBool:
    case DataType::kUint8:
      return static_cast<E>(static_cast<const uint8_t*>(data)[i]);
    case DataType::kUint16:
      return static_cast<E>(static_cast<const uint16_t*>(data)[i]);
    case DataType::kUint32:
      return static_cast<E>(static_cast<const uint32_t*>(data)[i]);
    case DataType::kUint64:
      return static_cast<E>(static_cast<const uint64_t*>(data)[i]);
    case DataType::kFloat16:
      return static_cast<E>(ToFloat(static_cast<const Half*>(data)[i]));
    case DataType::kBfloat16:
      return static_cast<E>(ToFloat(static_cast<const Bfloat16*>(data)[i]));
    default:
      return E{};
  }
}

// int32 and int64 index inputs alike.
struct Indices {
  const void* data = nullptr;
  bool wide = true;
  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(data)[i] : static_cast<const int32_t*>(data)[i];
  }
};
inline bool IsIndexType(DataType type) { return type == DataType::kInt64 || type == DataType::kInt32; }

}  // namespace pt::reference
