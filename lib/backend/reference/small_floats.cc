#include "lib/backend/reference/small_floats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pt::reference {
namespace {

using Specials = SmallFloat::Specials;

uint8_t NanCode(const SmallFloat& f, bool negative) {
  const int sign_at = f.exponent_bits + f.mantissa_bits;
  const int sign = f.is_signed && negative ? 1 << sign_at : 0;
  switch (f.specials) {
    case Specials::kUnsigned:
    case Specials::kNone:
      return static_cast<uint8_t>(1 << sign_at);  // float4 has none: its negative zero
    case Specials::kFinite:
      return static_cast<uint8_t>(sign | ((1 << sign_at) - 1));
    case Specials::kIeee:
      break;
  }
  const int exponent = ((1 << f.exponent_bits) - 1) << f.mantissa_bits;
  return static_cast<uint8_t>(sign | exponent | 1 << (f.mantissa_bits - 1));  // quiet
}

// The code of the largest number, without its sign.
int LargestCode(const SmallFloat& f) {
  const int all = (1 << (f.exponent_bits + f.mantissa_bits)) - 1;
  if (f.specials == Specials::kIeee) return all - (1 << f.mantissa_bits);
  return f.specials == Specials::kFinite ? all - 1 : all;
}

}  // namespace

std::optional<SmallFloat> SmallFloatOf(DataType type) {
  switch (type) {  // no default: the compiler names the type that is missing
    case DataType::kFloat8E4M3FN:
      return SmallFloat{4, 3, 7, Specials::kFinite, true};
    case DataType::kFloat8E4M3FNUZ:
      return SmallFloat{4, 3, 8, Specials::kUnsigned, true};
    case DataType::kFloat8E5M2:
      return SmallFloat{5, 2, 15, Specials::kIeee, true};
    case DataType::kFloat8E5M2FNUZ:
      return SmallFloat{5, 2, 16, Specials::kUnsigned, true};
    case DataType::kFloat4E2M1:
      return SmallFloat{2, 1, 1, Specials::kNone, true};
    case DataType::kUndefined:
    case DataType::kFloat32:
    case DataType::kUint8:
    case DataType::kInt8:
    case DataType::kUint16:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kString:
    case DataType::kBool:
    case DataType::kFloat16:
    case DataType::kFloat64:
    case DataType::kUint32:
    case DataType::kUint64:
    case DataType::kComplex64:
    case DataType::kComplex128:
    case DataType::kBfloat16:
    case DataType::kUint4:
    case DataType::kInt4:
    case DataType::kFloat8E8M0:  // a power of two, with neither sign nor mantissa
    case DataType::kUint2:
    case DataType::kInt2:
      break;
  }
  return std::nullopt;
}

float DecodeSmallFloat(const SmallFloat& f, uint8_t code) {
  const int sign_at = f.exponent_bits + f.mantissa_bits;
  const bool negative = f.is_signed && ((code >> sign_at) & 1) != 0;
  const int magnitude = code & ((1 << sign_at) - 1);
  if (f.specials == Specials::kUnsigned && negative && magnitude == 0) return std::numeric_limits<float>::quiet_NaN();
  if (f.specials == Specials::kFinite && magnitude == (1 << sign_at) - 1)
    return std::numeric_limits<float>::quiet_NaN();
  const int exponent = magnitude >> f.mantissa_bits, mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  float value = 0;
  if (f.specials == Specials::kIeee && exponent == (1 << f.exponent_bits) - 1) {
    value = mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + (1 << f.mantissa_bits)), exponent - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

uint8_t EncodeSmallFloat(const SmallFloat& f, double value, bool saturate) {
  const bool negative = std::signbit(value);
  const int sign_at = f.exponent_bits + f.mantissa_bits;
  const int sign = negative ? 1 << sign_at : 0;
  if (std::isnan(value)) return NanCode(f, negative);
  const int largest = LargestCode(f);
  const auto overflow = [&]() -> uint8_t {
    if (saturate || f.specials == Specials::kNone) return static_cast<uint8_t>(sign | largest);
    if (f.specials == Specials::kIeee)
      return static_cast<uint8_t>(sign | (((1 << f.exponent_bits) - 1) << f.mantissa_bits));
    return NanCode(f, negative);
  };
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return overflow();
  // Codes of one sign are evenly spaced within a binade: count spacings and round.
  const int exponent = magnitude == 0 ? 1 - f.bias : std::max(std::ilogb(magnitude), 1 - f.bias);
  const double steps = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  const int code = static_cast<int>(steps) + ((exponent + f.bias - 1) << f.mantissa_bits);
  if (code > largest) return overflow();
  if (code == 0 && f.specials == Specials::kUnsigned) return 0;  // no negative zero
  return static_cast<uint8_t>(sign | code);
}

}  // namespace pt::reference
