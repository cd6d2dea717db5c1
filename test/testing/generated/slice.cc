// Parts of tensors, and what is put around them.
#include <algorithm>
#include <limits>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

DrawnOperand AnySliced(Drawing& d) {
  const DrawnOperand there = d.Find([](const DrawnValue& v) { return v.rank() >= 1 && v.rank() <= 5; });
  return there != nullptr && d.Chance(0.9) ? there : d.Input(DataType::kFloat32, d.AnyDims(1, 5));
}

Dims SlicedAxes(Drawing& d, int64_t rank) {
  Dims axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (d.Chance(0.5)) axes.push_back(d.Chance(0.4) ? i - rank : i);
  }
  if (axes.empty()) axes.push_back(d.Axis(rank));
  return axes;
}

int64_t SizeOf(DrawnOperand x, int64_t axis) {
  return x->dims[static_cast<size_t>(axis < 0 ? axis + x->rank() : axis)];
}

// Starts and ends inside, outside and at the end of what numbers hold; steps in both directions.
void DrawSlice(Drawing& d) {
  const DrawnOperand x = AnySliced(d);
  const bool all = d.Chance(0.2);
  Dims axes, starts, ends, steps;
  if (all) {
    for (int64_t i = 0; i < x->rank(); ++i) axes.push_back(i);
  } else {
    axes = SlicedAxes(d, x->rank());
  }
  for (const int64_t axis : axes) {
    const int64_t size = SizeOf(x, axis);
    const int64_t step = d.OneOf(Dims{1, 1, 1, 2, 3, -1, -1, -2});
    int64_t start = d.Between(0, size), end = d.Between(0, size);
    if ((step > 0) != (start < end)) std::swap(start, end);
    if (step < 0) {
      start = std::min(start, size - 1);
      if (end == 0 || d.Chance(0.4)) end = std::numeric_limits<int64_t>::min() / 2;
    } else if (d.Chance(0.3)) {
      end = std::numeric_limits<int64_t>::max();
    }
    if (d.Chance(0.3) && start < size) start -= size;
    starts.push_back(start);
    ends.push_back(end > 0 && end < size && d.Chance(0.3) ? end - size : end);
    steps.push_back(step);
  }
  std::vector<DrawnOperand> operands = {x, d.List(starts), d.List(ends)};
  const bool needs_steps = std::ranges::any_of(steps, [](int64_t s) { return s != 1; }) || d.Chance(0.3);
  if (!all || needs_steps) operands.push_back(d.List(axes));
  if (needs_steps) operands.push_back(d.List(steps));
  d.Node("Slice", operands);
}

void DrawPad(Drawing& d) {
  const DrawnOperand x = AnySliced(d);
  const std::string mode = d.OneOf({"constant", "constant", "reflect", "edge", "wrap"});
  const bool by_axes = d.Chance(0.3);
  Dims axes;
  for (int64_t i = 0; i < x->rank(); ++i) axes.push_back(i);
  if (by_axes) axes = SlicedAxes(d, x->rank());
  Dims begins, ends;
  for (const int64_t axis : axes) {
    const int64_t size = SizeOf(x, axis);
    const int64_t most = mode == "constant" ? 3 : std::min<int64_t>(3, mode == "reflect" ? size - 1 : size);
    if (size == 0 && mode != "constant") return;
    // Negative ones cut, where some is left.
    const int64_t least = size >= 5 && d.Chance(0.2) ? -2 : 0;
    begins.push_back(d.Chance(0.5) ? 0 : d.Between(least, most));
    ends.push_back(d.Chance(0.4) ? 0 : d.Between(least, most));
  }
  Dims pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  std::vector<DrawnOperand> operands = {x, d.List(pads)};
  const bool value = mode == "constant" && x->is_float() && d.Chance(0.5);
  if (value) operands.push_back(d.Number(d.Real(-1, 1)));
  if (by_axes) {
    if (!value) operands.push_back(Drawing::LeftOut());
    operands.push_back(d.List(axes));
  }
  d.Node("Pad", operands, mode == "constant" && d.Chance(0.5) ? Attributes() : Attributes().Text("mode", mode));
}

void DrawCenterCropPad(Drawing& d) {
  const DrawnOperand x = AnySliced(d);
  Dims shape;
  const Dims axes = SlicedAxes(d, x->rank());
  for (const int64_t axis : axes) shape.push_back(std::max<int64_t>(1, SizeOf(x, axis) + d.Between(-3, 3)));
  d.Node("CenterCropPad", {x, d.List(shape)}, Attributes().Ints("axes", axes));
}

}  // namespace

DrawnFamily SliceFamily() {
  return {"slice",
          {{"Slice", DrawSlice},
           {"Slice", DrawSlice},
           {"Slice", DrawSlice},
           {"Pad", DrawPad},
           {"Pad", DrawPad},
           {"CenterCropPad", DrawCenterCropPad}},
          3};
}

}  // namespace pt::testing
