#include "partitiontuner/candidate/quantisation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/support/hash.h"

namespace pt {
namespace {

// Of the types that a quantisation may be stored in.
std::optional<IntegerRange> StorageRange(DataType storage) {
  const bool stored = storage == DataType::kInt8 || storage == DataType::kUint8 || storage == DataType::kInt4 ||
                      storage == DataType::kUint4;
  return stored ? RangeOf(storage) : std::nullopt;
}

}  // namespace

QuantisationId IdOf(const Quantisation& quantisation) {
  std::string text = "axis " + std::to_string(quantisation.axis);
  for (float scale : quantisation.scales) text += " s" + std::to_string(std::bit_cast<uint32_t>(scale));
  for (int64_t zero : quantisation.zero_points) text += " z" + std::to_string(zero);
  const uint64_t low = HashText(text).low;
  return {low == 0 ? 1 : low};
}

std::string ToString(QuantisationId id) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kHex[id.value >> static_cast<unsigned>(shift) & 15U];
  return text;
}

std::string QuantisationFault(const Quantisation& quantisation, const ValueType& value, DataType storage) {
  const std::optional<IntegerRange> range = StorageRange(storage);
  if (!range) return std::string(DataTypeName(storage)) + " is not a quantised storage type";
  size_t wanted = 1;
  if (quantisation.axis != Quantisation::kWholeTensor) {
    if (quantisation.axis < 0 || static_cast<size_t>(quantisation.axis) >= value.dims.size()) {
      return "axis " + std::to_string(quantisation.axis) + " is not an axis of " + ToString(value);
    }
    const Dim& dim = value.dims[static_cast<size_t>(quantisation.axis)];
    if (dim.value < 0) return "the extent of axis " + std::to_string(quantisation.axis) + " is not known";
    wanted = static_cast<size_t>(dim.value);
  }
  if (quantisation.scales.size() != wanted || quantisation.zero_points.size() != wanted) {
    return std::to_string(quantisation.scales.size()) + " scales and " +
           std::to_string(quantisation.zero_points.size()) + " zero points; expected " + std::to_string(wanted) +
           " of each";
  }
  for (float scale : quantisation.scales) {
    if (!std::isfinite(scale) || !(scale > 0)) return "a scale is not a finite number above zero";
  }
  for (int64_t zero : quantisation.zero_points) {
    if (static_cast<double>(zero) < range->low || static_cast<double>(zero) > range->high) {
      return "zero point " + std::to_string(zero) + " is out of the range of " + std::string(DataTypeName(storage));
    }
  }
  return "";
}

}  // namespace pt
