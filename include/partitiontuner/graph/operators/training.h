// What optimisers (ai.onnx.preview.training) and losses say.
#pragma once

#include <cstdint>
#include <optional>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/result.h"

namespace pt {

struct AdagradNode {
  float decay = 0, epsilon = 1e-6F, norm = 0;
};
AdagradNode ReadAdagrad(const Node& node);

struct AdamNode {
  float alpha = 0.9F, beta = 0.999F, epsilon = 1e-6F;
  float norm = 0, norm_after = 0;  // regularisation before and after the update
};
AdamNode ReadAdam(const Node& node);

struct MomentumNode {
  float alpha = 0, beta = 0, norm = 0;
  bool nesterov = false;
};
// Errors: kInvalidInput for an unknown mode and missing coefficients.
Result<MomentumNode> ReadMomentum(const Node& node);

enum class LossReduction : uint8_t { kNone, kSum, kMean };
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
struct LossNode {
  LossReduction reduction = LossReduction::kMean;
  std::optional<int64_t> ignored;  // the class that does not count
};
// Error: kInvalidInput for an unknown reduction.
Result<LossNode> ReadLoss(const Node& node);

}  // namespace pt
