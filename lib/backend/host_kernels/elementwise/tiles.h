// The operations that elementwise expressions are made of: each runs over a tile, a stretch of elements short enough
// for the innermost cache.
#pragma once

#include <array>
#include <cstdint>

#include "partitiontuner/graph/data_type.h"

namespace pt::host {

inline constexpr int64_t kTileElements = 1024;

struct TileCall {
  std::array<const void*, 3> in = {};  // those that the function does not read are as the first
  void* out = nullptr;                 // may be one of the inputs
  int64_t n = 0;                       // at most kTileElements
  float p = 0, q = 0;                  // parameters
  const void* data = nullptr;          // what the function knows beside them
};
using TileFunction = void (*)(const TileCall&);

enum class Function : uint8_t {
  // float32 to float32; kAbs, kNeg and kSign of int32 and int64 too
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,  // p
  kClip,  // into p..q
  kCos,
  kCosh,
  kDivideBy,  // p
  kElu,       // p
  kErf,
  kExp,
  kFloor,
  kGelu,         // by Erf
  kGeluTanh,     // approximated by tanh
  kHardSigmoid,  // p, q
  kHardSwish,
  kLeakyRelu,  // p
  kLog,
  kMish,
  kNeg,
  kReciprocal,
  kRelu,
  kRound,
  kSelu,    // p, q
  kShrink,  // p, q
  kSigmoid,
  kSign,
  kSin,
  kSinh,
  kSoftplus,
  kSoftsign,
  kSqrt,
  kSquare,
  kSwish,  // p
  kTan,
  kTanh,
  kThresholdedRelu,  // p
  // two of one type to that type: float32, int32, int64
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kPow,
  kFloorMod,      // of the divisor's sign
  kTruncatedMod,  // of the dividend's
  kPrelu,         // float32 alone
  kBitwiseAnd,    // int32, int64, as the next three
  kBitwiseNot,    // one operand
  kBitwiseOr,
  kBitwiseXor,
  // float32 to bool
  kIsInf,
  kIsNan,
  kIsNegativeInf,
  kIsPositiveInf,
  // two of one type to bool: also of bool, where that makes sense
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  // bool to bool
  kAnd,
  kOr,
  kXor,
  kNot,
  // (bool, any, any)
  kWhere,
  kCast,
  // between float32 and 8-bit integers: scale p, zero point q
  kDequantise,
  kQuantise,
};

// Nanoseconds of one element, roughly.
double WorkOf(Function function);

// The function from elements of `from` (of kWhere: the chosen ones) to `to`; null where there is none.
TileFunction FindTileFunction(Function function, DataType from, DataType to);

}  // namespace pt::host
