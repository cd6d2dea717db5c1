// A first look at the bytes of a model, before any parser allocates: is this protobuf in the shape
// of a model, nested no deeper and no bigger than the limits allow? Flat stack, linear time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "partitiontuner/support/limits.h"
#include "partitiontuner/support/result.h"

namespace pt {

struct WireCounts {
  uint64_t nodes = 0;  // in all graphs and functions
  uint64_t functions = 0;
  uint64_t unknown_fields = 0;  // skipped: from a newer format
};

// Errors (kInvalidInput) name the offset and the offending number.
Result<WireCounts> ScanModelBytes(std::span<const std::byte> bytes, const Limits& limits);

}  // namespace pt
