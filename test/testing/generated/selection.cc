// What looks for places along an axis, and running results.
#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

void DrawArg(Drawing& d, const char* op) {
  const DrawnOperand x = d.Float(1, 5);
  Attributes attributes;
  if (d.Chance(0.8)) attributes.Int("axis", d.Axis(x->rank()));
  if (d.Chance(0.6)) attributes.Int("keepdims", d.Between(0, 1));
  if (d.Chance(0.4)) attributes.Int("select_last_index", d.Between(0, 1));
  for (const int64_t dim : x->dims) {
    if (dim == 0) return;
  }
  d.Node(op, {x}, attributes);
}

void DrawTopK(Drawing& d) {
  DrawnOperand x = d.Float(1, 4);
  if (d.Chance(0.2)) x = d.Input(d.OneOf(std::vector<DataType>{DataType::kInt64, DataType::kInt32}), d.AnyDims(1, 4));
  const int64_t axis = d.Axis(x->rank());
  const int64_t size = x->dims[static_cast<size_t>(axis < 0 ? axis + x->rank() : axis)];
  Attributes attributes;
  attributes.Int("axis", axis);
  if (d.Chance(0.5)) attributes.Int("largest", d.Between(0, 1));
  const std::vector<std::vector<bool>> wanted = {{true, true}, {true, false}, {false, true}};
  d.Node("TopK", {x, d.List({d.Between(0, size)})}, attributes, d.OneOf(wanted));
}

void DrawRunning(Drawing& d) {
  DrawnOperand x = d.Float(1, 4);
  if (d.Chance(0.25)) x = d.Input(d.OneOf(std::vector<DataType>{DataType::kInt64, DataType::kInt32}), d.AnyDims(1, 4));
  Attributes attributes;
  if (d.Chance(0.5)) attributes.Int("exclusive", d.Between(0, 1));
  if (d.Chance(0.5)) attributes.Int("reverse", d.Between(0, 1));
  const DataType type = d.OneOf(std::vector<DataType>{DataType::kInt64, DataType::kInt32});
  const DrawnOperand axis = d.Constant(type, {}, "ints " + std::to_string(d.Axis(x->rank())));
  d.Node("CumSum", {x, axis}, attributes);
}

void DrawHardmax(Drawing& d) {
  const DrawnOperand x = d.Float(1, 4);
  Attributes attributes;
  if (d.Chance(0.7)) attributes.Int("axis", d.Axis(x->rank()));
  d.Node("Hardmax", {x}, attributes);
}

}  // namespace

DrawnFamily SelectionFamily() {
  return {"selection",
          {{"ArgMax", [](Drawing& d) { DrawArg(d, "ArgMax"); }},
           {"ArgMin", [](Drawing& d) { DrawArg(d, "ArgMin"); }},
           {"TopK", DrawTopK},
           {"TopK", DrawTopK},
           {"CumSum", DrawRunning},
           {"Hardmax", DrawHardmax}},
          2};
}

}  // namespace pt::testing
