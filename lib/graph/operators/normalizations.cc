#include "partitiontuner/graph/operators/normalizations.h"

#include <string>

namespace pt {
namespace {

Error InvalidNormalization(std::string why) {
  return MakeError(ErrorCode::kInvalidInput, "graph.normalization", std::move(why));
}

}  // namespace

float ReadEpsilon(const Node& node) { return node.float_or("epsilon", 1e-5F); }

BatchNormalizationNode ReadBatchNormalization(const Node& node) {
  return {ReadEpsilon(node), node.float_or("momentum", 0.9F), node.int_or("training_mode", 0) != 0};
}

bool HasFloat32Statistics(const Node& node) {
  constexpr auto kFloat32 = static_cast<int64_t>(DataType::kFloat32);
  return node.int_or("stash_type", kFloat32) == kFloat32;
}

int64_t ReadGroups(const Node& node) { return node.int_or("num_groups", 0); }

Result<int64_t> ReadLpOrder(const Node& node) {
  const int64_t order = node.int_or("p", 2);
  if (order == 1 || order == 2) return order;
  return InvalidNormalization("p is neither 1 nor 2");
}

Result<LrnNode> ReadLrn(const Node& node) {
  const LrnNode lrn{node.int_or("size", 0), node.float_or("alpha", 1e-4F), node.float_or("beta", 0.75F),
                    node.float_or("bias", 1.0F)};
  if (lrn.size < 1) return InvalidNormalization("size is not positive");
  return lrn;
}

}  // namespace pt
