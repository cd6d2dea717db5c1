// Pooling of all kinds.
#include <algorithm>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

// A window smaller than the image, padded by less than its own size, so that each sees some of the image.
struct Pooled {
  DrawnOperand x = nullptr;
  Attributes attributes;
};

Pooled AnyPooling(Drawing& d) {
  Pooled pooled;
  const DrawnOperand x = d.Image(d.OneOf(Dims{1, 2, 2, 2, 3}));
  if (std::ranges::find(x->dims, 0) != x->dims.end()) return pooled;
  Dims kernel, strides, dilations, begins, ends;
  const bool dilated = d.Chance(0.15);
  for (size_t i = 2; i < x->dims.size(); ++i) {
    const int64_t size = x->dims[i];
    kernel.push_back(d.Between(1, std::min<int64_t>(size, 4)));
    const int64_t dilation = dilated && (kernel.back() - 1) * 2 + 1 <= size ? 2 : 1;
    dilations.push_back(dilation);
    const int64_t most = dilation == 1 ? kernel.back() / 2 : 0;
    begins.push_back(d.Between(0, most));
    ends.push_back(d.Between(0, most));
    strides.push_back(d.Between(1, 3));
  }
  pooled.x = x;
  pooled.attributes.Ints("kernel_shape", kernel);
  if (d.Chance(0.8)) pooled.attributes.Ints("strides", strides);
  if (dilated) pooled.attributes.Ints("dilations", dilations);
  if (d.Chance(0.15) && !dilated) {
    pooled.attributes.Text("auto_pad", d.OneOf({"SAME_UPPER", "SAME_LOWER", "VALID"}));
    return pooled;
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  if (d.Chance(0.6)) pooled.attributes.Ints("pads", begins);
  if (d.Chance(0.4)) pooled.attributes.Int("ceil_mode", d.Between(0, 1));
  return pooled;
}

void DrawMaxPool(Drawing& d) {
  const Pooled pooled = AnyPooling(d);
  if (d.Chance(0.15)) {
    d.Node("MaxPool", {pooled.x}, pooled.attributes, {true, true});
  } else {
    d.Node("MaxPool", {pooled.x}, pooled.attributes);
  }
}

void DrawAveragePool(Drawing& d) {
  Pooled pooled = AnyPooling(d);
  if (d.Chance(0.5)) pooled.attributes.Int("count_include_pad", d.Between(0, 1));
  d.Node("AveragePool", {pooled.x}, pooled.attributes);
}

void DrawLpPool(Drawing& d) {
  Pooled pooled = AnyPooling(d);
  if (d.Chance(0.5)) pooled.attributes.Int("p", d.Between(1, 3));
  d.Node("LpPool", {pooled.x}, pooled.attributes);
}

void DrawGlobal(Drawing& d, const char* op) {
  const DrawnOperand x = d.Image(d.OneOf(Dims{1, 2, 2, 2, 3}));
  d.Node(op, {x});
}

}  // namespace

DrawnFamily PoolFamily() {
  DrawnFamily family{"pool",
                     {{"MaxPool", DrawMaxPool},
                      {"MaxPool", DrawMaxPool},
                      {"AveragePool", DrawAveragePool},
                      {"AveragePool", DrawAveragePool},
                      {"LpPool", DrawLpPool}},
                     3};
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) {
    family.rows.push_back({op, [op](Drawing& d) { DrawGlobal(d, op); }});
  }
  return family;
}

}  // namespace pt::testing
