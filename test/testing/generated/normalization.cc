// Normalisations and softmax.
#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

void DrawSoftmax(Drawing& d, const char* op) {
  const DrawnOperand x = d.Float(1, 5);
  Attributes attributes;
  if (d.Chance(0.7)) attributes.Int("axis", d.Axis(x->rank()));
  d.Node(op, {x}, attributes);
}

// Over the last dims; scale and bias as large as these.
void DrawOverLastDims(Drawing& d, const char* op, bool has_bias) {
  const DrawnOperand x = d.Float(1, 4);
  if (IsEmpty(x)) return;
  const int64_t axis = d.Chance(0.6) ? -1 : d.Axis(x->rank());
  const Dims dims(axis < 0 ? x->dims.end() + axis : x->dims.begin() + axis, x->dims.end());
  std::vector<DrawnOperand> operands = {x, d.Like(kFloat, dims)};
  if (has_bias && d.Chance(0.6)) operands.push_back(d.Like(kFloat, dims));
  Attributes attributes;
  if (axis != -1 || d.Chance(0.5)) attributes.Int("axis", axis);
  attributes.Float("epsilon", d.OneOf(std::vector<double>{1e-2, 1e-3, 0.1}));
  if (has_bias && d.Chance(0.1)) {
    d.Node(op, operands, attributes, {true, true, true});
  } else {
    d.Node(op, operands, attributes);
  }
}

void DrawInstanceNormalization(Drawing& d) {
  const DrawnOperand x = d.Image(d.OneOf(Dims{1, 2, 2, 3}));
  if (IsEmpty(x)) return;
  d.Node("InstanceNormalization", {x, d.Like(kFloat, {x->dims[1]}), d.Like(kFloat, {x->dims[1]})},
         Attributes().Float("epsilon", 0.01));
}

void DrawGroupNormalization(Drawing& d) {
  const DrawnOperand x = d.Image(d.OneOf(Dims{1, 2, 2, 3}));
  if (IsEmpty(x)) return;
  Dims groups;
  for (int64_t k = 1; k <= x->dims[1]; ++k) {
    if (x->dims[1] % k == 0) groups.push_back(k);
  }
  d.Node("GroupNormalization", {x, d.Like(kFloat, {x->dims[1]}), d.Like(kFloat, {x->dims[1]})},
         Attributes().Int("num_groups", d.OneOf(groups)).Float("epsilon", 0.01));
}

void DrawBatchNormalization(Drawing& d) {
  const DrawnOperand x = d.Chance(0.8) ? d.Image(d.OneOf(Dims{1, 2, 2, 3})) : d.Float(2, 2);
  const Dims channels = {x->dims[1]};
  const auto parameter = [&] { return d.Chance(0.8) ? d.Constant(kFloat, channels) : d.Like(kFloat, channels); };
  Attributes attributes;
  if (d.Chance(0.4)) attributes.Float("epsilon", d.OneOf(std::vector<double>{1e-3, 1e-2}));
  d.Node("BatchNormalization",
         {x, parameter(), parameter(), parameter(),
          d.Constant(kFloat, channels, "value " + std::to_string(d.Real(0.2, 2)))},
         attributes);
}

void DrawLrn(Drawing& d) {
  const DrawnOperand x = d.Image(d.OneOf(Dims{1, 2, 2, 2}));
  Attributes attributes;
  attributes.Int("size", d.OneOf(Dims{1, 3, 5, 2, 4}));
  if (d.Chance(0.6)) attributes.Float("alpha", d.Real(0.001, 0.5));
  if (d.Chance(0.6)) attributes.Float("beta", d.OneOf(std::vector<double>{0.75, 0.5, 1, 0.6}));
  if (d.Chance(0.6)) attributes.Float("bias", d.Real(0.5, 2));
  d.Node("LRN", {x}, attributes);
}

void DrawLpNormalization(Drawing& d) {
  const DrawnOperand x = d.Float(1, 4);
  Attributes attributes;
  if (d.Chance(0.7)) attributes.Int("axis", d.Axis(x->rank()));
  if (d.Chance(0.5)) attributes.Int("p", d.Between(1, 2));
  d.Node("LpNormalization", {x}, attributes);
}

void DrawMeanVariance(Drawing& d) {
  const DrawnOperand x = d.Image(2);
  if (IsEmpty(x)) return;
  d.Node(
      "MeanVarianceNormalization", {x},
      d.Chance(0.5) ? Attributes() : Attributes().Ints("axes", d.OneOf(std::vector<Dims>{{2, 3}, {1}, {0, 1, 2, 3}})));
}

}  // namespace

DrawnFamily NormalizationFamily() {
  return {"normalization",
          {{"Softmax", [](Drawing& d) { DrawSoftmax(d, "Softmax"); }},
           {"Softmax", [](Drawing& d) { DrawSoftmax(d, "Softmax"); }},
           {"LogSoftmax", [](Drawing& d) { DrawSoftmax(d, "LogSoftmax"); }},
           {"LayerNormalization", [](Drawing& d) { DrawOverLastDims(d, "LayerNormalization", true); }},
           {"LayerNormalization", [](Drawing& d) { DrawOverLastDims(d, "LayerNormalization", true); }},
           {"RMSNormalization", [](Drawing& d) { DrawOverLastDims(d, "RMSNormalization", false); }},
           {"InstanceNormalization", DrawInstanceNormalization},
           {"GroupNormalization", DrawGroupNormalization},
           {"BatchNormalization", DrawBatchNormalization},
           {"LRN", DrawLrn},
           {"LpNormalization", DrawLpNormalization},
           {"MeanVarianceNormalization", DrawMeanVariance}},
          3};
}

}  // namespace pt::testing
