// Quantisation: how integers stand for real numbers: real = scale * (integer - zero point), with one pair for a whole
// tensor or one for each index along an axis. Forms name one by its id; the plan holds the table.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "partitiontuner/graph/graph.h"

namespace pt {

// Made from the content, so that equal quantisations have equal ids in every plan, process and database. 0 = none.
struct QuantisationId {
  uint64_t value = 0;

  bool valid() const { return value != 0; }
  friend auto operator<=>(const QuantisationId&, const QuantisationId&) = default;
};

struct Quantisation {
  static constexpr int64_t kWholeTensor = -1;

  int64_t axis = kWholeTensor;       // of the value's dims; kWholeTensor: one scale for all
  std::vector<float> scales;         // one, or one for each index along the axis; finite and above zero
  std::vector<int64_t> zero_points;  // as many; within the range of the storage type

  friend bool operator==(const Quantisation&, const Quantisation&) = default;
};

QuantisationId IdOf(const Quantisation& quantisation);
std::string ToString(QuantisationId id);  // 16 hex digits
// What is wrong with it for a value stored so; empty when nothing is. Storage: int8, uint8, int4 or uint4.
std::string QuantisationFault(const Quantisation& quantisation, const ValueType& value, DataType storage);

}  // namespace pt
