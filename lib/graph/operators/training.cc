#include "partitiontuner/graph/operators/training.h"

#include <string>

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

Error InvalidTraining(std::string why) { return MakeError(ErrorCode::kInvalidInput, "graph.training", std::move(why)); }

float NormOf(const Node& node) { return node.float_or("norm_coefficient", 0.0F); }

}  // namespace

AdagradNode ReadAdagrad(const Node& node) {
  return {node.float_or("decay_factor", 0.0F), node.float_or("epsilon", 1e-6F), NormOf(node)};
}

AdamNode ReadAdam(const Node& node) {
  return {node.float_or("alpha", 0.9F), node.float_or("beta", 0.999F), node.float_or("epsilon", 1e-6F), NormOf(node),
          node.float_or("norm_coefficient_post", 0.0F)};
}

Result<MomentumNode> ReadMomentum(const Node& node) {
  const std::string mode = node.string_or("mode", "");
  if (mode != "standard" && mode != "nesterov")
    return InvalidTraining(UnknownWord("mode", mode, {"standard", "nesterov"}));
  for (const char* required : {"alpha", "beta", "norm_coefficient"}) {
    if (node.find(required) == nullptr)
      return InvalidTraining("attribute \"" + std::string(required) + "\" is missing");
  }
  return MomentumNode{node.float_or("alpha", 0.0F), node.float_or("beta", 0.0F), NormOf(node), mode == "nesterov"};
}

Result<LossNode> ReadLoss(const Node& node) {
  LossNode loss;
  const std::string reduction = node.string_or("reduction", "mean");
  if (reduction == "none") {
    loss.reduction = LossReduction::kNone;
  } else if (reduction == "sum") {
    loss.reduction = LossReduction::kSum;
  } else if (reduction != "mean") {
    return InvalidTraining(UnknownWord("reduction", reduction, {"none", "sum", "mean"}));
  }
  if (node.find("ignore_index") != nullptr) loss.ignored = node.int_or("ignore_index", 0);
  return loss;
}

}  // namespace pt
