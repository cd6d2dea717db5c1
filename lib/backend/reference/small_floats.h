// Floats of eight bits and less, decoded and encoded by their format's numbers.
#pragma once

#include <optional>

#include "partitiontuner/graph/data_type.h"

namespace pt::reference {

struct SmallFloat {
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  enum class Specials : uint8_t {
    kIeee,      // all exponent bits set: infinity and NaN
    kFinite,    // all bits set: NaN, no infinity (FN)
    kUnsigned,  // negative zero: NaN, no infinity (FNUZ)
    kNone,      // every code is a number
  } specials = Specials::kIeee;
  bool is_signed = true;
};

// nullopt for other types.
std::optional<SmallFloat> SmallFloatOf(DataType type);

float DecodeSmallFloat(const SmallFloat& format, uint8_t code);
// Nearest, ties to even. Beyond the largest: the largest if `saturate`, else infinity or NaN.
uint8_t EncodeSmallFloat(const SmallFloat& format, double value, bool saturate);

}  // namespace pt::reference
