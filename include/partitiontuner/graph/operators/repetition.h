// What a Scan of operator set 9 or later says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// How one input or output is cut into slices, one for each trip.
struct ScanSlicing {
  int64_t axis = 0;  // as it is written: below 0, it counts from the back
  bool reversed = false;
  // 0 <= axis < rank. nullopt: a tensor of that rank does not have it.
  std::optional<size_t> AxisIn(size_t rank) const;
};

// The attributes of Scan, read and checked.
struct ScanNode {
  size_t scanned = 0;                        // its last inputs, as many as this, are sliced
  size_t carried = 0;                        // the inputs before them, and as many first outputs, go from trip to trip
  std::vector<ScanSlicing> inputs, outputs;  // as far as they are given

  // The i-th of the sliced inputs, and the i-th of the outputs that are put together from slices.
  ScanSlicing InputSlicing(size_t i) const { return i < inputs.size() ? inputs[i] : ScanSlicing(); }
  ScanSlicing OutputSlicing(size_t i) const { return i < outputs.size() ? outputs[i] : ScanSlicing(); }
};
// Error: kInvalidInput where num_scan_inputs is missing, below 1 or beyond the node's inputs, and where a list of axes
// or directions has another length than there are tensors to slice, or a direction is neither 0 nor 1.
Result<ScanNode> ReadScan(const Node& node);

}  // namespace pt
