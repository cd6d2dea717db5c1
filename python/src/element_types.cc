#include "element_types.h"

#include <algorithm>
#include <array>

namespace nb = nanobind;

namespace pt::python {
namespace {

struct Row {
  DataType type;
  uint8_t code, bits;  // of DLPack 1.1
  bool in_numpy;
};
constexpr std::array kRows = {
    Row{DataType::kFloat32, 2, 32, true},
    Row{DataType::kUint8, 1, 8, true},
    Row{DataType::kInt8, 0, 8, true},
    Row{DataType::kUint16, 1, 16, true},
    Row{DataType::kInt16, 0, 16, true},
    Row{DataType::kInt32, 0, 32, true},
    Row{DataType::kInt64, 0, 64, true},
    Row{DataType::kBool, 6, 8, true},
    Row{DataType::kFloat16, 2, 16, true},
    Row{DataType::kFloat64, 2, 64, true},
    Row{DataType::kUint32, 1, 32, true},
    Row{DataType::kUint64, 1, 64, true},
    Row{DataType::kComplex64, 5, 64, true},
    Row{DataType::kComplex128, 5, 128, true},
    Row{DataType::kBfloat16, 4, 16, false},
    Row{DataType::kFloat8E4M3FN, 10, 8, false},
    Row{DataType::kFloat8E4M3FNUZ, 11, 8, false},
    Row{DataType::kFloat8E5M2, 12, 8, false},
    Row{DataType::kFloat8E5M2FNUZ, 13, 8, false},
    Row{DataType::kFloat8E8M0, 14, 8, false},
};

const Row* RowOf(DataType type) {
  const auto* const row = std::ranges::find(kRows, type, &Row::type);
  return row == kRows.end() ? nullptr : row;
}

}  // namespace

std::optional<DataType> FromDlpack(nb::dlpack::dtype type) {
  for (const Row& row : kRows) {
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.type;
  }
  return std::nullopt;
}

std::optional<nb::dlpack::dtype> ToDlpack(DataType type) {
  const Row* const row = RowOf(type);
  if (row == nullptr) return std::nullopt;
  return nb::dlpack::dtype{row->code, row->bits, 1};
}

bool IsInNumpy(DataType type) {
  const Row* const row = RowOf(type);
  return row != nullptr && row->in_numpy;
}

}  // namespace pt::python
