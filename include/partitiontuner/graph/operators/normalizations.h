// What normalisations say beside their axis (axis.h): BatchNormalization, LayerNormalization, RMSNormalization,
// InstanceNormalization, GroupNormalization, LpNormalization and LRN.
#pragma once

#include <cstdint>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

// The attributes of BatchNormalization, read and checked.
struct BatchNormalizationNode {
  float epsilon = 1e-5F, momentum = 0.9F;
  bool training = false;

  friend bool operator==(const BatchNormalizationNode&, const BatchNormalizationNode&) = default;
};
BatchNormalizationNode ReadBatchNormalization(const Node& node);

// Layer-, RMS-, Instance- and GroupNormalization: what is added to the variance.
float ReadEpsilon(const Node& node);
// Layer-, RMS- and GroupNormalization: mean and variance are computed in float32, whatever the type of the input.
bool HasFloat32Statistics(const Node& node);
// GroupNormalization: the number of groups; 0 where it is missing, which is wrong.
int64_t ReadGroups(const Node& node);
// LpNormalization: 1 or 2. Error: kInvalidInput for others.
Result<int64_t> ReadLpOrder(const Node& node);

// x / (bias + alpha / size * sum of the squares of `size` neighbouring channels) ^ beta
struct LrnNode {
  int64_t size = 1;
  float alpha = 1e-4F, beta = 0.75F, bias = 1;

  friend bool operator==(const LrnNode&, const LrnNode&) = default;
};
// Error: kInvalidInput where the size is not positive.
Result<LrnNode> ReadLrn(const Node& node);

}  // namespace pt
