// From an element type known at run time to a C++ type: the one switch over all of them. Code that depends on the
// element type is written once, as a generic callable; what it does not hold for is excluded by a condition on the C++
// type, never by a default that would also take in types that were not considered.
//
//   VisitType(tensor.type(), [&]<typename T>() {
//     if constexpr (std::is_integral_v<T>) sum += tensor.values<T>()[0];
//   });
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "partitiontuner/graph/data_type.h"
#include "partitiontuner/graph/half.h"

namespace pt {

// Stand for types whose elements no C++ type can be: nothing can be loaded or stored through them.
template <DataType type>
struct NoElement {};
template <typename T>
inline constexpr bool kIsElement = true;
template <DataType type>
inline constexpr bool kIsElement<NoElement<type>> = false;

// visit.operator()<T>() with the C++ type of one element in memory: the standard types, bool (one byte, 0 or 1), Half,
// Bfloat16, std::complex, std::string, and NoElement for undefined, packed and 8-bit floating types. T is what all
// results must agree in. A number that is not a type counts as undefined.
template <typename F>
decltype(auto) VisitType(DataType type, F&& visit) {
  using D = DataType;
  switch (type) {  // no default: the compiler names the type that is missing
    case D::kUndefined:
      break;
    case D::kFloat32:
      return visit.template operator()<float>();
    case D::kUint8:
      return visit.template operator()<uint8_t>();
    case D::kInt8:
      return visit.template operator()<int8_t>();
    case D::kUint16:
      return visit.template operator()<uint16_t>();
    case D::kInt16:
      return visit.template operator()<int16_t>();
    case D::kInt32:
      return visit.template operator()<int32_t>();
    case D::kInt64:
      return visit.template operator()<int64_t>();
    case D::kString:
      return visit.template operator()<std::string>();
    case D::kBool:
      return visit.template operator()<bool>();
    case D::kFloat16:
      return visit.template operator()<Half>();
    case D::kFloat64:
      return visit.template operator()<double>();
    case D::kUint32:
      return visit.template operator()<uint32_t>();
    case D::kUint64:
      return visit.template operator()<uint64_t>();
    case D::kComplex64:
      return visit.template operator()<std::complex<float>>();
    case D::kComplex128:
      return visit.template operator()<std::complex<double>>();
    case D::kBfloat16:
      return visit.template operator()<Bfloat16>();
    case D::kFloat8E4M3FN:
      return visit.template operator()<NoElement<D::kFloat8E4M3FN>>();
    case D::kFloat8E4M3FNUZ:
      return visit.template operator()<NoElement<D::kFloat8E4M3FNUZ>>();
    case D::kFloat8E5M2:
      return visit.template operator()<NoElement<D::kFloat8E5M2>>();
    case D::kFloat8E5M2FNUZ:
      return visit.template operator()<NoElement<D::kFloat8E5M2FNUZ>>();
    case D::kUint4:
      return visit.template operator()<NoElement<D::kUint4>>();
    case D::kInt4:
      return visit.template operator()<NoElement<D::kInt4>>();
    case D::kFloat4E2M1:
      return visit.template operator()<NoElement<D::kFloat4E2M1>>();
    case D::kFloat8E8M0:
      return visit.template operator()<NoElement<D::kFloat8E8M0>>();
    case D::kUint2:
      return visit.template operator()<NoElement<D::kUint2>>();
    case D::kInt2:
      return visit.template operator()<NoElement<D::kInt2>>();
  }
  return visit.template operator()<NoElement<D::kUndefined>>();
}

// Those of VisitType's C++ types that hold one real number, as bool, integers, Half, Bfloat16, float and double do.
template <typename T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T>;
template <>
inline constexpr bool kIsNumber<Half> = true;
template <>
inline constexpr bool kIsNumber<Bfloat16> = true;
// Those of them that are floating-point numbers.
template <typename T>
inline constexpr bool kIsFloat = kIsNumber<T> && !std::is_integral_v<T>;

// The number that such an element is, as an N (double, int64_t, …).
template <typename N, typename T>
N NumberOf(T element) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    return static_cast<N>(ToFloat(element));
  } else {
    return static_cast<N>(element);
  }
}

// The element nearest to a number: ties to even for the 16-bit floats, true for what is not 0, the
// rules of static_cast for the others.
template <typename T, typename N>
T ElementOf(N number) {
  if constexpr (std::is_same_v<T, Half>) {
    return ToHalf(static_cast<std::conditional_t<std::is_same_v<N, float>, float, double>>(number));
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return ToBfloat16(static_cast<std::conditional_t<std::is_same_v<N, float>, float, double>>(number));
  } else if constexpr (std::is_same_v<T, bool>) {
    return number != N{0};
  } else {
    return static_cast<T>(number);
  }
}

}  // namespace pt
