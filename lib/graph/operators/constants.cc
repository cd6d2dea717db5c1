#include "partitiontuner/graph/operators/constants.h"

#include "lib/graph/operators/lists.h"

namespace pt {

std::optional<Tensor> ReadConstant(const Node& node) {
  if (const auto* tensor = AttributeOf<Tensor>(node, "value")) return *tensor;
  if (const auto* real = AttributeOf<float>(node, "value_float")) return Tensor::Float32({}, {*real});
  if (const auto* integer = AttributeOf<int64_t>(node, "value_int")) return Tensor::Int64({}, {*integer});
  if (const auto* reals = AttributeOf<std::vector<float>>(node, "value_floats"))
    return Tensor::Float32({std::ssize(*reals)}, *reals);
  if (const auto* integers = AttributeOf<std::vector<int64_t>>(node, "value_ints"))
    return Tensor::Int64({std::ssize(*integers)}, *integers);
  return std::nullopt;
}

Result<Tensor> ReadFillValue(const Node& node) {
  Tensor value = AttributeOr(node, "value", Tensor::Float32({1}, {0}));
  if (value.element_count() == 1) return value;
  return MakeError(ErrorCode::kInvalidInput, "graph.constant", "the value is not a single element");
}

int64_t ReadDiagonal(const Node& node) { return node.int_or("k", 0); }

bool IsPeriodic(const Node& node) { return node.int_or("periodic", 1) != 0; }

}  // namespace pt
