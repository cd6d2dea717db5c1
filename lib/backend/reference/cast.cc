// Cast and CastLike between all element types but strings, and BitCast. Elements go through int64 or double in small
// pieces.
#include "lib/backend/reference/cast.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/small_floats.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/named_types.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// The piece of a conversion that is in the cache at a time.
struct Piece {
  std::array<double, 256> floats;
  std::array<int64_t, 256> ints;
};

bool IsFloatLike(DataType type) {
  return IsFloating(type) || SmallFloatOf(type).has_value() || type == DataType::kFloat8E8M0;
}
bool IsIntLike(DataType type) { return (IsInteger(type) || type == DataType::kBool) && BitsOf(type) != 0; }

template <typename T, typename W>
void Widen(const void* from, int64_t begin, int64_t n, W* to) {
  const T* in = static_cast<const T*>(from) + begin;
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<W>(in[i]);
}

void ReadFloats(DataType type, const void* from, int64_t begin, int64_t n, double* to) {
  if (type == DataType::kFloat32) return Widen<float>(from, begin, n, to);
  if (type == DataType::kFloat64) return Widen<double>(from, begin, n, to);
  const auto* codes = static_cast<const uint8_t*>(from) + begin;
  if (const std::optional<SmallFloat> format = SmallFloatOf(type)) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<double>(DecodeSmallFloat(*format, codes[i]));
  } else if (type == DataType::kFloat8E8M0) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = codes[i] == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, codes[i] - 127);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = LoadAs<double>(type, from, begin + i);
  }
}

void ReadInts(DataType type, const void* from, int64_t begin, int64_t n, int64_t* to) {
  if (type == DataType::kInt4 || type == DataType::kInt2) return Widen<int8_t>(from, begin, n, to);
  if (type == DataType::kUint4 || type == DataType::kUint2) return Widen<uint8_t>(from, begin, n, to);
  VisitType(type, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<const uint8_t*>(from)[begin + i] != 0 ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) {
      Widen<T>(from, begin, n, to);
    }
  });
}

// Integers of fewer bits keep the low ones; of four bits, as a sign-extended byte.
void WriteIntsFromInts(DataType type, const int64_t* from, int64_t n, void* to, int64_t begin) {
  if (BitsOf(type) < 8) {
    const int shift = 8 - BitsOf(type);
    const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
    auto* const out = static_cast<uint8_t*>(to) + begin;
    for (int64_t i = 0; i < n; ++i) {
      const auto high = static_cast<uint8_t>(from[i] << shift);
      out[i] = static_cast<uint8_t>(is_signed ? static_cast<int8_t>(high) >> shift : high >> shift);
    }
    return;
  }
  VisitType(type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < n; ++i) static_cast<T*>(to)[begin + i] = static_cast<T>(from[i]);
    }
  });
}

// Floats truncate; beyond the range of the wide integer they become its nearest end, NaN becomes 0.
int64_t Truncate(double x) {
  if (std::isnan(x)) return 0;
  if (x >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (x < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(x);
}

uint8_t EncodePowerOfTwo(double x) {
  if (std::isnan(x) || std::isinf(x)) return 255;
  if (x <= 0) return 0;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);             // in [0.5, 1)
  const int rounded = exponent - 1 + (mantissa > 0.5 ? 1 : 0);  // upwards, as scales want it
  return static_cast<uint8_t>(std::clamp(rounded + 127, 0, 254));
}

void WriteFloats(DataType type, const double* from, int64_t n, bool saturate, void* to, int64_t begin) {
  auto* const bytes = static_cast<uint8_t*>(to) + begin;
  if (type == DataType::kFloat8E8M0) {
    for (int64_t i = 0; i < n; ++i) bytes[i] = EncodePowerOfTwo(from[i]);
  } else if (const std::optional<SmallFloat> format = SmallFloatOf(type)) {
    for (int64_t i = 0; i < n; ++i) bytes[i] = EncodeSmallFloat(*format, from[i], saturate);
  } else {
    VisitType(type, [&]<typename T>() {
      if constexpr (kIsFloat<T>) {
        for (int64_t i = 0; i < n; ++i) static_cast<T*>(to)[begin + i] = ElementOf<T>(from[i]);
      }
    });
  }
}

void ConvertPiece(DataType from_type, DataType to_type, bool saturate, const void* from, void* to, int64_t begin,
                  int64_t n) {
  Piece piece;
  const bool unsigned64 = from_type == DataType::kUint64;
  if (IsIntLike(from_type)) {
    ReadInts(from_type, from, begin, n, piece.ints.data());
    if (IsIntLike(to_type)) return WriteIntsFromInts(to_type, piece.ints.data(), n, to, begin);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t x = piece.ints[static_cast<size_t>(i)];
      if (to_type == DataType::kFloat32) {  // one rounding, not two
        static_cast<float*>(to)[begin + i] =
            unsigned64 ? static_cast<float>(static_cast<uint64_t>(x)) : static_cast<float>(x);
      } else {
        piece.floats[static_cast<size_t>(i)] =
            unsigned64 ? static_cast<double>(static_cast<uint64_t>(x)) : static_cast<double>(x);
      }
    }
    if (to_type != DataType::kFloat32) WriteFloats(to_type, piece.floats.data(), n, saturate, to, begin);
    return;
  }
  ReadFloats(from_type, from, begin, n, piece.floats.data());
  if (!IsIntLike(to_type)) return WriteFloats(to_type, piece.floats.data(), n, saturate, to, begin);
  for (int64_t i = 0; i < n; ++i) {
    const double x = piece.floats[static_cast<size_t>(i)];
    int64_t& integer = piece.ints[static_cast<size_t>(i)];
    if (to_type == DataType::kBool) {
      integer = x != 0 ? 1 : 0;
    } else if (to_type == DataType::kUint64 && x >= 0x1p63) {
      integer = static_cast<int64_t>(x >= 0x1p64 ? ~uint64_t{0} : static_cast<uint64_t>(x));
    } else {
      integer = Truncate(x);
    }
  }
  WriteIntsFromInts(to_type, piece.ints.data(), n, to, begin);
}

Result<ReferenceRoutine> CastTo(ReferenceSite& site, DataType to) {
  const DataType from = site.in[0].type;
  if (!CanCast(from, to)) {
    return site.Unsupported("is not supported from " + std::string(DataTypeName(from)) + " to " +
                            std::string(DataTypeName(to)));
  }
  if (!RoundsUp(site.node)) return site.Unsupported("is supported with round_mode \"up\" only");
  PT_CHECK_OK(site.Out(0, to, site.in[0].dims));
  const bool saturate = Saturates(site.node);
  return ReferenceRoutine{[=, count = site.in[0].count()](const TensorCall& run) -> Status {
    ParallelRanges(run.team, count, 2, [&](int64_t begin, int64_t end) {
      Convert(from, to, saturate, run.in<void>(0), run.out<void>(), begin, end);
    });
    return {};
  }};
}

Result<ReferenceRoutine> Cast(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const DataType to, OrInvalid(ReadNamedType(site.node, "to"), site));
  return CastTo(site, to);
}

Result<ReferenceRoutine> CastLike(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 2));
  return CastTo(site, site.in[1].type);
}

// The same bits under another type's name.
Result<ReferenceRoutine> BitCast(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_ASSIGN(const DataType to, OrInvalid(ReadNamedType(site.node, "to"), site));
  const DataType from = site.in[0].type;
  if (BitsOf(to) == 0 || BitsOf(to) != BitsOf(from)) {
    return site.Invalid(std::string(DataTypeName(to)) + " does not have the bits of " +
                        std::string(DataTypeName(from)));
  }
  PT_CHECK_OK(site.Out(0, to, site.in[0].dims));
  return ReferenceRoutine{
      [bytes = static_cast<size_t>(site.in[0].count() * FedBytes(from))](const TensorCall& run) -> Status {
        if (bytes > 0) std::memcpy(run.out<void>(), run.in<void>(0), bytes);
        return {};
      }};
}

constexpr std::array kCastOperators = {
    ReferenceRow{.op = "BitCast", .make = BitCast, .since = 26},
    ReferenceRow{.op = "Cast", .make = Cast, .since = 6},
    ReferenceRow{.op = "CastLike", .make = CastLike},
};

}  // namespace

bool CanCast(DataType from, DataType to) {
  return (IsFloatLike(from) || IsIntLike(from)) && (IsFloatLike(to) || IsIntLike(to));
}

void Convert(DataType from_type, DataType to_type, bool saturate, const void* from, void* to, int64_t begin,
             int64_t end) {
  for (int64_t i = begin; i < end; i += 256) {
    ConvertPiece(from_type, to_type, saturate, from, to, i, std::min<int64_t>(256, end - i));
  }
}

std::span<const ReferenceRow> CastOperators() { return kCastOperators; }

}  // namespace pt::reference
