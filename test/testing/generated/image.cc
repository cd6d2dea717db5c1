// Sampling of images.
#include <algorithm>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

std::string FloatsText(const std::vector<double>& values) {
  std::string text = "floats";
  for (const double value : values) text += " " + std::to_string(value);
  return text;
}

// By scales or to sizes, of the spatial dims alone or of all.
void DrawResize(Drawing& d) {
  const DrawnOperand x = d.Image(d.OneOf(Dims{1, 2, 2, 2, 3}));
  if (IsEmpty(x)) return;
  const std::string mode = d.OneOf({"nearest", "nearest", "linear", "linear", "cubic"});
  Attributes attributes;
  attributes.Text("mode", mode);
  attributes.Text("coordinate_transformation_mode",
                  d.OneOf({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"}));
  if (mode == "nearest") {
    attributes.Text("nearest_mode", d.OneOf({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  }
  if (mode == "cubic" && d.Chance(0.5)) attributes.Float("cubic_coeff_a", -0.5);
  if (mode == "cubic" && d.Chance(0.3)) attributes.Int("exclude_outside", 1);
  if (mode == "linear" && d.Chance(0.2)) attributes.Int("antialias", 1);
  const bool some = d.Chance(0.3);
  Dims axes, sizes;
  std::vector<double> scales;
  for (int64_t i = 0; i < x->rank(); ++i) {
    const bool spatial = i >= 2;
    if (some && !spatial) continue;
    axes.push_back(i);
    const int64_t size = x->dims[static_cast<size_t>(i)];
    sizes.push_back(spatial ? std::max<int64_t>(1, d.Chance(0.5) ? size * 2 : size + d.Between(-3, 4)) : size);
    const double scale = d.OneOf(std::vector<double>{2, 2, 1, 0.5, 1.5, 3, 0.75});
    scales.push_back(!spatial || static_cast<double>(size) * scale < 1 ? 1 : scale);
  }
  if (some) attributes.Ints("axes", axes);
  const auto count = static_cast<int64_t>(axes.size());
  if (d.Chance(0.5)) {
    d.Node("Resize", {x, Drawing::LeftOut(), d.Constant(kFloat, {count}, FloatsText(scales))}, attributes);
  } else {
    d.Node("Resize", {x, Drawing::LeftOut(), Drawing::LeftOut(), d.List(sizes)}, attributes);
  }
}

void DrawGridSample(Drawing& d) {
  const DrawnOperand x = d.Image(2);
  if (IsEmpty(x)) return;
  const DrawnOperand grid = d.Node("Tanh", {d.Input(kFloat, {x->dims[0], d.Between(1, 5), d.Between(1, 5), 2})});
  Attributes attributes;
  if (d.Chance(0.7)) attributes.Text("mode", d.OneOf({"linear", "nearest", "cubic"}));
  if (d.Chance(0.7)) attributes.Text("padding_mode", d.OneOf({"zeros", "border", "reflection"}));
  if (d.Chance(0.5)) attributes.Int("align_corners", d.Between(0, 1));
  d.Node("GridSample", {x, grid}, attributes);
}

void DrawRoiAlign(Drawing& d) {
  const DrawnOperand x = d.Image(2);
  if (IsEmpty(x)) return;
  const int64_t regions = d.Between(1, 3);
  std::vector<double> corners;
  Dims batch;
  for (int64_t i = 0; i < regions; ++i) {
    const double left = d.Real(0, 3), top = d.Real(0, 3);
    for (const double corner : {left, top, left + d.Real(0.5, 5), top + d.Real(0.5, 5)}) corners.push_back(corner);
    batch.push_back(d.Between(0, x->dims[0] - 1));
  }
  Attributes attributes;
  attributes.Int("output_height", d.Between(1, 3)).Int("output_width", d.Between(1, 3));
  if (d.Chance(0.5)) attributes.Text("mode", d.OneOf({"avg", "max"}));
  if (d.Chance(0.5)) attributes.Int("sampling_ratio", d.Between(0, 3));
  if (d.Chance(0.5)) attributes.Text("coordinate_transformation_mode", d.OneOf({"half_pixel", "output_half_pixel"}));
  d.Node("RoiAlign", {x, d.Constant(kFloat, {regions, 4}, FloatsText(corners)), d.List(batch)}, attributes);
}

int64_t DivisorOf(Drawing& d, int64_t count) {
  Dims divisors;
  for (int64_t k = 1; k <= count; ++k) {
    if (count % k == 0) divisors.push_back(k);
  }
  return d.OneOf(divisors);
}

void DrawDeformConv(Drawing& d) {
  const DrawnOperand x = d.Image(2);
  if (IsEmpty(x)) return;
  const int64_t channels = x->dims[1], kernel = d.Between(1, 3), stride = d.Between(1, 2), pad = d.Between(0, 1);
  const int64_t groups = DivisorOf(d, channels), offset_groups = DivisorOf(d, channels);
  const int64_t filters = groups * d.Between(1, 3), fields = offset_groups * kernel * kernel;
  Dims out = {x->dims[0], 0};
  for (size_t i = 2; i < 4; ++i) {
    const int64_t room = x->dims[i] + 2 * pad - kernel;
    if (room < 0) return;
    out.push_back(room / stride + 1);
  }
  const auto field = [&](int64_t count) {
    out[1] = count;
    return d.Node("Tanh", {d.Input(kFloat, out)});
  };
  std::vector<DrawnOperand> operands = {x, d.Constant(kFloat, {filters, channels / groups, kernel, kernel}),
                                        field(2 * fields)};
  const bool masked = d.Chance(0.5);
  if (d.Chance(0.5)) {
    operands.push_back(d.Constant(kFloat, {filters}));
  } else if (masked) {
    operands.push_back(Drawing::LeftOut());
  }
  if (masked) operands.push_back(field(fields));
  Attributes attributes;
  attributes.Ints("strides", {stride, stride}).Ints("pads", {pad, pad, pad, pad});
  attributes.Int("group", groups).Int("offset_group", offset_groups);
  d.Node("DeformConv", operands, attributes);
}

void DrawMaxRoiPool(Drawing& d) {
  const DrawnOperand x = d.Image(2);
  if (IsEmpty(x)) return;
  const int64_t regions = d.Between(1, 3);
  std::vector<double> corners;
  for (int64_t i = 0; i < regions; ++i) {
    const double left = d.Real(-1, 4), top = d.Real(-1, 4);
    corners.push_back(static_cast<double>(d.Between(0, x->dims[0] - 1)));
    for (const double corner : {left, top, left + d.Real(-1, 6), top + d.Real(-1, 6)}) corners.push_back(corner);
  }
  Attributes attributes;
  attributes.Ints("pooled_shape", {d.Between(1, 3), d.Between(1, 3)});
  if (d.Chance(0.5)) attributes.Float("spatial_scale", d.Real(0.3, 2));
  d.Node("MaxRoiPool", {x, d.Constant(kFloat, {regions, 5}, FloatsText(corners))}, attributes);
}

}  // namespace

DrawnFamily ImageFamily() {
  return {"image",
          {{"Resize", DrawResize},
           {"Resize", DrawResize},
           {"Resize", DrawResize},
           {"GridSample", DrawGridSample},
           {"RoiAlign", DrawRoiAlign},
           {"DeformConv", DrawDeformConv},
           {"MaxRoiPool", DrawMaxRoiPool}},
          2};
}

}  // namespace pt::testing
