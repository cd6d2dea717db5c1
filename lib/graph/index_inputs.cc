#include "partitiontuner/graph/index_inputs.h"

#include <algorithm>
#include <string_view>

namespace pt {
namespace {

struct IndexInput {
  std::string_view op;
  uint32_t indices;      // which input holds positions
  uint32_t data;         // into which input
  int64_t default_axis;  // where the node has no attribute axis
  bool every_axis;       // positions along any of the data's axes
};

constexpr IndexInput kIndexInputs[] = {
    {"EmbedLayerNormalization", 0, 2, 0, false},
    {"Gather", 1, 0, 0, false},
    {"GatherElements", 1, 0, 0, false},
    {"GatherND", 1, 0, 0, true},
    {"NegativeLogLikelihoodLoss", 1, 0, 1, false},
    {"RoiAlign", 2, 0, 0, false},
    {"RotaryEmbedding", 3, 1, 0, false},
    {"Scatter", 1, 0, 0, false},
    {"ScatterElements", 1, 0, 0, false},
    {"ScatterND", 1, 0, 0, true},
    {"SoftmaxCrossEntropyLoss", 1, 0, 1, false},
    {"TensorScatter", 2, 0, 0, true},
};

}  // namespace

std::optional<int64_t> MostIndex(const Graph& graph, const Node& node, uint32_t input) {
  const auto row = std::find_if(std::begin(kIndexInputs), std::end(kIndexInputs),
                                [&](const IndexInput& r) { return r.op == node.op && r.indices == input; });
  if (row == std::end(kIndexInputs) || row->data >= node.inputs.size() || !node.inputs[row->data].valid())
    return std::nullopt;
  const std::vector<Dim>& dims = graph.value(node.inputs[row->data]).type.dims;
  if (dims.empty()) return std::nullopt;
  if (row->every_axis) {
    const auto least =
        std::min_element(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.value < b.value; });
    return least->known() ? std::optional(least->value - 1) : std::nullopt;
  }
  int64_t axis = node.int_or("axis", row->default_axis);
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) return std::nullopt;
  const Dim& dim = dims[static_cast<size_t>(axis)];
  return dim.known() ? std::optional(dim.value - 1) : std::nullopt;
}

}  // namespace pt
