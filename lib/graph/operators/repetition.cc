#include "partitiontuner/graph/operators/repetition.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace pt {
namespace {

std::vector<ScanSlicing> ReadSlicings(const Node& node, std::string_view axes_name, std::string_view directions_name) {
  const std::vector<int64_t> axes = node.ints_or(axes_name, {}), directions = node.ints_or(directions_name, {});
  std::vector<ScanSlicing> slicings(std::max(axes.size(), directions.size()));
  for (size_t i = 0; i < axes.size(); ++i) slicings[i].axis = axes[i];
  for (size_t i = 0; i < directions.size(); ++i) slicings[i].reversed = directions[i] != 0;
  return slicings;
}

}  // namespace

std::optional<size_t> ScanSlicing::AxisIn(size_t rank) const {
  const int64_t at = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (at < 0 || at >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(at);
}

Result<ScanNode> ReadScan(const Node& node) {
  const int64_t scanned = node.int_or("num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<int64_t>(node.formal_inputs)) {
    return MakeError(ErrorCode::kInvalidInput, "graph.scan",
                     "Scan: num_scan_inputs is " + std::to_string(scanned) + ", with " +
                         std::to_string(node.formal_inputs) + " inputs");
  }
  ScanNode scan;
  scan.scanned = static_cast<size_t>(scanned);
  scan.carried = node.formal_inputs - scan.scanned;
  scan.inputs = ReadSlicings(node, "scan_input_axes", "scan_input_directions");
  scan.outputs = ReadSlicings(node, "scan_output_axes", "scan_output_directions");
  return scan;
}

}  // namespace pt
