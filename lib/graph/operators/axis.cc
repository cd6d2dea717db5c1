#include "partitiontuner/graph/operators/axis.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>

namespace pt {
namespace {

struct AxisRow {
  std::string_view op;
  int64_t otherwise;
};

// Sorted by name.
constexpr std::array kAxes = {
    AxisRow{"ArgMax", 0},
    AxisRow{"ArgMin", 0},
    AxisRow{"Compress", 0},
    AxisRow{"Concat", 0},  // 1 before operator set 4; required since
    AxisRow{"ConcatFromSequence", 0},
    AxisRow{"DequantizeLinear", 1},
    AxisRow{"Gather", 0},
    AxisRow{"GatherElements", 0},
    AxisRow{"LayerNormalization", -1},
    AxisRow{"LpNormalization", -1},
    AxisRow{"OneHot", -1},
    AxisRow{"QuantizeLinear", 1},
    AxisRow{"RMSNormalization", -1},
    AxisRow{"Scatter", 0},
    AxisRow{"ScatterElements", 0},
    AxisRow{"Split", 0},
    AxisRow{"SplitToSequence", 0},
    AxisRow{"TensorScatter", -2},
    AxisRow{"TopK", -1},
    AxisRow{"Unique", 0},
};
static_assert(std::ranges::is_sorted(kAxes, {}, &AxisRow::op));

}  // namespace

Result<size_t> ResolveAxis(int64_t axis, size_t rank) {
  const auto dims = static_cast<int64_t>(rank);
  if (axis >= -dims && axis < dims) return static_cast<size_t>(axis < 0 ? axis + dims : axis);
  return MakeError(ErrorCode::kInvalidInput, "graph.axis",
                   "axis " + std::to_string(axis) + " does not exist in a tensor of rank " + std::to_string(rank));
}

Result<size_t> ReadAxis(const Node& node, int64_t opset, size_t rank) {
  const auto row = std::ranges::lower_bound(kAxes, node.op, {}, &AxisRow::op);
  if (row == kAxes.end() || row->op != node.op) {
    return MakeError(ErrorCode::kUnsupported, "graph.axis", node.op + " has no axis that is known");
  }
  const int64_t otherwise = node.op == "Concat" && opset < 4 ? 1 : row->otherwise;
  return ResolveAxis(node.int_or("axis", otherwise), rank);
}

bool HasAxis(const Node& node) { return node.find("axis") != nullptr; }

int64_t ReadBlockSize(const Node& node) { return node.int_or("block_size", 0); }

Result<std::vector<size_t>> ReadAxes(const Node& node, size_t rank) {
  std::vector<int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  const bool normalises = node.op == "MeanVarianceNormalization";
  std::vector<size_t> axes;
  for (const int64_t axis : node.ints_or("axes", normalises ? std::vector<int64_t>{0, 2, 3} : all)) {
    PT_ASSIGN(const size_t resolved, ResolveAxis(axis, rank));
    axes.push_back(resolved);
  }
  return axes;
}

}  // namespace pt
