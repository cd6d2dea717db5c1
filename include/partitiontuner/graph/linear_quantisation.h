// How QuantizeLinear and DequantizeLinear map real numbers to integers: real = scale * (integer - zero point).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// The least and the greatest integer of a type.
struct IntegerRange {
  double low = 0, high = 0;
};
// What an integer type of at most 32 bits holds, which are those that quantised values may have; nullopt for others.
std::optional<IntegerRange> RangeOf(DataType type);

// What the integers of a tensor stand for.
struct LinearQuantisation {
  static constexpr int64_t kWholeTensor = -1;

  DataType type = DataType::kUndefined;  // of the integers
  int64_t axis = kWholeTensor;           // of the tensor; kWholeTensor: one pair for all
  std::vector<float> scales;             // one, or one for each index along the axis
  std::vector<int64_t> zero_points;      // as many

  bool is_whole() const { return axis == kWholeTensor; }
  // Of bytes: all zero points are in the middle of the type's range, so that int8 holds what is left without them.
  bool has_centred_zeros() const {
    const int64_t middle = type == DataType::kUint8 ? 128 : 0;
    return std::ranges::all_of(zero_points, [middle](int64_t zero) { return zero == middle; });
  }
  friend bool operator==(const LinearQuantisation&, const LinearQuantisation&) = default;
};

// What a QuantizeLinear or DequantizeLinear between float32 and an integer type says, where all of it is constant: the
// dims are static, scales are positive and of moderate size (2^-60 to 2^60, so that no product of an integer and a
// scale overflows or loses digits), and not given by blocks. nullopt for every other node.
std::optional<LinearQuantisation> LinearQuantisationOf(const Graph& graph, const Node& node);

inline bool IsDequantisation(const Node& node) { return node.domain.empty() && node.op == "DequantizeLinear"; }
inline bool IsQuantisation(const Node& node) { return node.domain.empty() && node.op == "QuantizeLinear"; }
inline bool IsByte(DataType type) { return type == DataType::kInt8 || type == DataType::kUint8; }

}  // namespace pt
