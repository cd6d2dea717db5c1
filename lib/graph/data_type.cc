#include "partitiontuner/graph/data_type.h"

#include <array>

namespace pt {
namespace {

enum class Family : uint8_t { kOther, kFloating, kInteger };

struct TypeRow {
  std::string_view name;
  int bits;
  Family family;
};

// Indexed by the number of the type.
constexpr std::array<TypeRow, 27> kTypes = {{
    {"undefined", 0, Family::kOther},
    {"float32", 32, Family::kFloating},
    {"uint8", 8, Family::kInteger},
    {"int8", 8, Family::kInteger},
    {"uint16", 16, Family::kInteger},
    {"int16", 16, Family::kInteger},
    {"int32", 32, Family::kInteger},
    {"int64", 64, Family::kInteger},
    {"string", 0, Family::kOther},
    {"bool", 8, Family::kOther},
    {"float16", 16, Family::kFloating},
    {"float64", 64, Family::kFloating},
    {"uint32", 32, Family::kInteger},
    {"uint64", 64, Family::kInteger},
    {"complex64", 64, Family::kOther},
    {"complex128", 128, Family::kOther},
    {"bfloat16", 16, Family::kFloating},
    {"float8e4m3fn", 8, Family::kFloating},
    {"float8e4m3fnuz", 8, Family::kFloating},
    {"float8e5m2", 8, Family::kFloating},
    {"float8e5m2fnuz", 8, Family::kFloating},
    {"uint4", 4, Family::kInteger},
    {"int4", 4, Family::kInteger},
    {"float4e2m1", 4, Family::kFloating},
    {"float8e8m0", 8, Family::kFloating},
    {"uint2", 2, Family::kInteger},
    {"int2", 2, Family::kInteger},
}};

const TypeRow& Row(DataType type) {
  const auto number = static_cast<size_t>(type);
  return kTypes[number < kTypes.size() ? number : 0];
}

}  // namespace

std::string_view DataTypeName(DataType type) { return Row(type).name; }

std::optional<DataType> DataTypeFromName(std::string_view name) {
  for (size_t i = 1; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

int BitsOf(DataType type) { return Row(type).bits; }
int64_t BytesOf(DataType type) { return Row(type).bits / 8; }
bool IsFloating(DataType type) { return Row(type).family == Family::kFloating; }
bool IsInteger(DataType type) { return Row(type).family == Family::kInteger; }

}  // namespace pt
