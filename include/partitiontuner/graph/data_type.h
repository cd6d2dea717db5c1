// Element types of tensors. The numbers are ONNX's TensorProto.DataType.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pt {

enum class DataType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// "float32", "int64", …; "undefined" for numbers that are not a type.
std::string_view DataTypeName(DataType type);
std::optional<DataType> DataTypeFromName(std::string_view name);

// Bits of one element in memory; 0 for strings and undefined. Sub-byte types are packed two or four
// to a byte in files (low bits first).
int BitsOf(DataType type);
// Bytes of one element for byte-sized types; 0 for strings, sub-byte and undefined.
int64_t BytesOf(DataType type);
bool IsFloating(DataType type);
bool IsInteger(DataType type);  // signed or unsigned, not bool

}  // namespace pt
