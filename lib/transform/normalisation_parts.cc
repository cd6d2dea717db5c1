#include "lib/transform/normalisation_parts.h"

#include <algorithm>

#include "partitiontuner/graph/operators/reductions.h"

namespace pt {

std::optional<float> ScalarOf(const Graph& graph, ValueId value) {
  const auto& constant = graph.value(value).constant;
  if (!constant || constant->type() != DataType::kFloat32 || constant->element_count() != 1) return std::nullopt;
  return constant->values<float>()[0];
}

ValueId OtherOperand(const Node& node, ValueId one) { return node.inputs[node.inputs[0] == one ? 1 : 0]; }

std::optional<std::vector<int64_t>> TrailingDims(const Graph& graph, const Node& mean, const ValueType& type) {
  if (!type.ranked || type.type != DataType::kFloat32 || !KeepsReducedDims(mean)) return std::nullopt;
  if (mean.inputs.size() < 2 || !mean.inputs[1].valid()) return std::nullopt;
  const auto& constant = graph.value(mean.inputs[1]).constant;
  if (!constant) return std::nullopt;
  const auto rank = static_cast<int64_t>(type.dims.size());
  std::set<int64_t> axes;
  for (const int64_t axis : constant->ToInts()) axes.insert(axis < 0 ? axis + rank : axis);
  const auto count = static_cast<int64_t>(axes.size());
  if (count == 0 || *axes.begin() != rank - count || *axes.rbegin() != rank - 1) return std::nullopt;
  std::vector<int64_t> dims;
  for (auto i = static_cast<size_t>(rank - count); i < type.dims.size(); ++i) {
    if (!type.dims[i].known()) return std::nullopt;
    dims.push_back(type.dims[i].value);
  }
  return dims;
}

bool HasTrailingDims(const Graph& graph, ValueId value, const std::vector<int64_t>& dims, size_t rank) {
  const auto& constant = graph.value(value).constant;
  if (!constant || constant->type() != DataType::kFloat32) return false;
  const std::vector<int64_t>& own = constant->dims();
  if (own.size() < dims.size() || own.size() > rank) return false;
  const auto trailing = own.end() - static_cast<ptrdiff_t>(dims.size());
  return std::all_of(own.begin(), trailing, [](int64_t dim) { return dim == 1; }) &&
         std::equal(trailing, own.end(), dims.begin());
}

Tensor NormalisedParameter(const Graph& graph, ValueId value, const std::vector<int64_t>& dims, float fill) {
  if (value.valid()) {
    const auto values = graph.value(value).constant->values<float>();
    return Tensor::Float32(dims, std::vector<float>(values.begin(), values.end()));
  }
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return Tensor::Float32(dims, std::vector<float>(static_cast<size_t>(count), fill));
}

bool IsByChannel(const Tensor& constant, size_t rank, size_t channels) {
  const std::vector<int64_t>& dims = constant.dims();
  if (dims.size() > rank) return false;
  if (constant.element_count() == 1) return true;
  return static_cast<size_t>(constant.element_count()) == channels && dims.size() + 1 >= rank &&
         static_cast<size_t>(dims[dims.size() + 1 - rank]) == channels;
}

}  // namespace pt
