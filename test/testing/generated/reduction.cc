// Reductions over any axes.
#include <algorithm>
#include <numeric>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

struct ReductionRow {
  const char* op;
  bool takes_integers = false;
  double low = -1e3, high = 1e3;
};
constexpr ReductionRow kRows[] = {
    {"ReduceL1", true},
    {"ReduceL2"},
    {"ReduceLogSum", false, 0.05, 1e3},
    {"ReduceLogSumExp", false, -20, 20},
    {"ReduceMax", true},
    {"ReduceMean", false},
    {"ReduceMin", true},
    {"ReduceProd", true},
    {"ReduceSum", true},
    {"ReduceSumSquare", true},
};

// Some of the axes, in any order and counted from either end.
Dims SomeAxes(Drawing& d, int64_t rank) {
  Dims axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  for (size_t i = axes.size(); i > 1; --i)
    std::swap(axes[i - 1], axes[static_cast<size_t>(d.Between(0, static_cast<int64_t>(i) - 1))]);
  axes.resize(static_cast<size_t>(d.Between(rank == 0 ? 0 : 1, rank)));
  for (int64_t& axis : axes) axis -= d.Chance(0.4) ? rank : 0;
  return axes;
}

void DrawReduction(Drawing& d, const ReductionRow& row) {
  const bool anywhere = row.low <= -1e3;
  DrawnOperand x = anywhere ? d.Float(0, 5) : d.FloatWithin(row.low, row.high);
  if (row.takes_integers && d.Chance(0.25)) {
    const DataType type = d.OneOf(std::vector<DataType>{DataType::kInt32, DataType::kInt64});
    x = d.Find([&](const DrawnValue& v) { return v.type == type; });
    if (x == nullptr) x = d.Input(type, d.AnyDims(0, 4));
  }
  if (x == nullptr) return;
  Attributes attributes;
  if (d.Chance(0.7)) attributes.Int("keepdims", d.Between(0, 1));
  const bool none = d.Chance(0.12);
  if (none || d.Chance(0.1)) attributes.Int("noop_with_empty_axes", d.Between(0, 1));
  if (none) {
    d.Node(row.op, d.Chance(0.5) ? std::vector<DrawnOperand>{x} : std::vector<DrawnOperand>{x, d.List({})}, attributes);
  } else if (const Dims axes = SomeAxes(d, x->rank()); !axes.empty()) {
    d.Node(row.op, {x, d.List(axes)}, attributes);
  }
}

}  // namespace

DrawnFamily ReductionFamily() {
  DrawnFamily family{"reduction", {}, 3};
  for (const ReductionRow& row : kRows) {
    family.rows.push_back({row.op, [&row](Drawing& d) { DrawReduction(d, row); }});
  }
  return family;
}

}  // namespace pt::testing
