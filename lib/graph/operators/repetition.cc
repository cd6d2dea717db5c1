#include "partitiontuner/graph/operators/repetition.h"

#include <algorithm>
#include <string>

namespace pt {
namespace {

Error ScanRefusal(const std::string& what) {
  return MakeError(ErrorCode::kInvalidInput, "graph.scan", "Scan: " + what);
}

// None, or one value for each of `count` inputs or outputs that are sliced; `count` is not known where the body has
// fewer outputs than the node carries, which is refused elsewhere.
Result<std::vector<int64_t>> ReadScanList(const Node& node, const std::string& name, std::optional<size_t> count) {
  std::vector<int64_t> values = node.ints_or(name, {});
  if (values.empty() || !count || values.size() == *count) return values;
  return ScanRefusal(name + " has " + std::to_string(values.size()) + " values, where " + std::to_string(*count) +
                     (*count == 1 ? " tensor is sliced" : " tensors are sliced"));
}

Result<std::vector<ScanSlicing>> ReadSlicings(const Node& node, const std::string& side, std::optional<size_t> count) {
  const std::string directions_name = "scan_" + side + "_directions";
  PT_ASSIGN(const std::vector<int64_t> axes, ReadScanList(node, "scan_" + side + "_axes", count));
  PT_ASSIGN(const std::vector<int64_t> directions, ReadScanList(node, directions_name, count));
  std::vector<ScanSlicing> slicings(std::max(axes.size(), directions.size()));
  for (size_t i = 0; i < axes.size(); ++i) slicings[i].axis = axes[i];
  for (size_t i = 0; i < directions.size(); ++i) {
    if (directions[i] != 0 && directions[i] != 1) {
      return ScanRefusal(directions_name + " has a " + std::to_string(directions[i]) +
                         "; 0 is forward and 1 is backward");
    }
    slicings[i].reversed = directions[i] == 1;
  }
  return slicings;
}

// How many outputs are put together from slices.
std::optional<size_t> SlicedOutputs(const Node& node, size_t carried) {
  if (node.subgraphs.size() != 1) return std::nullopt;
  const size_t made = node.subgraphs[0].graph->outputs().size();
  return made < carried ? std::nullopt : std::optional(made - carried);
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
    return ScanRefusal("num_scan_inputs is " + std::to_string(scanned) + ", with " +
                       std::to_string(node.formal_inputs) + " inputs");
  }
  ScanNode scan;
  scan.scanned = static_cast<size_t>(scanned);
  scan.carried = node.formal_inputs - scan.scanned;
  PT_ASSIGN(scan.inputs, ReadSlicings(node, "input", scan.scanned));
  PT_ASSIGN(scan.outputs, ReadSlicings(node, "output", SlicedOutputs(node, scan.carried)));
  return scan;
}

}  // namespace pt
