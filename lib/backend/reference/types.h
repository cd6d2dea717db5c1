// Element types of the reference library: the visits that turn a DataType into a C++ type, by the sets its operators
// are defined for.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>

#include "lib/backend/reference/operator.h"
#include "lib/backend/visit_bytes.h"
#include "partitiontuner/graph/visit_type.h"

namespace pt::reference {

// Of errors about element types, which need no contents and no sizes to be found.
inline constexpr const char* kUnsupportedTypeId = "reference.type";

inline Error UnsupportedType(const ReferenceSite& site, DataType type) {
  Error error = site.Unsupported("is not supported for " + std::string(DataTypeName(type)));
  error.id = kUnsupportedTypeId;
  return error;
}

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// visit.operator()<T>() for the C++ type of `type`; kUnsupported when the set does not hold it. The 16-bit floats are
// in no set: routines that run on them see float (Feeding::kWidened).
template <typename F>
Result<ReferenceRoutine> VisitFloats(const ReferenceSite& site, DataType type, F&& visit) {
  return VisitType(type, [&]<typename T>() -> Result<ReferenceRoutine> {
    if constexpr (std::is_floating_point_v<T>) return visit.template operator()<T>();
    return UnsupportedType(site, type);
  });
}

template <typename F>
Result<ReferenceRoutine> VisitIntegers(const ReferenceSite& site, DataType type, F&& visit) {
  return VisitType(type, [&]<typename T>() -> Result<ReferenceRoutine> {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return visit.template operator()<T>();
    return UnsupportedType(site, type);
  });
}

template <typename F>
Result<ReferenceRoutine> VisitNumbers(const ReferenceSite& site, DataType type, F&& visit) {
  return IsInteger(type) ? VisitIntegers(site, type, visit) : VisitFloats(site, type, visit);
}

// Bytes of one element as routines see it: four- and two-bit types are fed one element a byte.
inline int64_t FedBytes(DataType type) { return BitsOf(type) != 0 && BitsOf(type) < 8 ? 1 : BytesOf(type); }

// By element size, for operators that only move bytes. kUnsupported for types without a size.
template <typename F>
Result<ReferenceRoutine> VisitSizes(const ReferenceSite& site, DataType type, F&& visit) {
  if (FedBytes(type) == 0) return UnsupportedType(site, type);
  return VisitBytes(FedBytes(type), visit);
}

// Element i of a numeric or boolean array, as E (int64_t or double); 0 for types of which IsLoadable is false.
template <typename E>
E LoadAs(DataType type, const void* data, int64_t i) {
  return VisitType(type, [&]<typename T>() -> E {
    if constexpr (std::is_same_v<T, bool>) return static_cast<E>(static_cast<const uint8_t*>(data)[i]);
    if constexpr (kIsNumber<T>) return NumberOf<E>(static_cast<const T*>(data)[i]);
    return E{};
  });
}
inline bool IsLoadable(DataType type) {
  return VisitType(type, []<typename T>() { return kIsNumber<T>; });
}
// kUnsupported when there is such an input and LoadAs cannot read it.
inline Status NeedLoadable(const ReferenceSite& site, size_t input) {
  return !site.has(input) || IsLoadable(site.in[input].type) ? Status() : UnsupportedType(site, site.in[input].type);
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
