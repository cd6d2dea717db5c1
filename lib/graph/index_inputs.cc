#include "partitiontuner/graph/index_inputs.h"

#include <algorithm>
#include <string_view>

#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/recurrence.h"

namespace pt {
namespace {

struct IndexInput {
  std::string_view op;
  uint32_t indices;  // which input holds positions
  uint32_t data;     // into which input
  int64_t axis;      // kNamed: the one that the node names
  bool every_axis;   // positions along any of the data's axes
};

constexpr int64_t kNamed = -1, kTime = -2;  // kTime: that of a sequence, of which lengths are given

constexpr IndexInput kIndexInputs[] = {
    {"EmbedLayerNormalization", 0, 2, 0, false},
    {"Gather", 1, 0, kNamed, false},
    {"GatherElements", 1, 0, kNamed, false},
    {"GatherND", 1, 0, 0, true},
    {"GRU", 4, 0, kTime, false},
    {"DynamicQuantizeLSTM", 4, 0, kTime, false},
    {"LSTM", 4, 0, kTime, false},
    {"NegativeLogLikelihoodLoss", 1, 0, 1, false},
    {"RNN", 4, 0, kTime, false},
    {"RoiAlign", 2, 0, 0, false},
    {"RotaryEmbedding", 3, 1, 0, false},
    {"Scatter", 1, 0, kNamed, false},
    {"ScatterElements", 1, 0, kNamed, false},
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
  if (row->axis == kTime) {
    const Result<RecurrenceNode> recurrence = ReadRecurrence(node);
    const size_t time = recurrence.ok() && recurrence->batch_first ? 1 : 0;
    return time < dims.size() && dims[time].known() ? std::optional(dims[time].value) : std::nullopt;
  }
  const Result<size_t> axis =
      row->axis == kNamed ? ReadAxis(node, graph.opset(), dims.size()) : ResolveAxis(row->axis, dims.size());
  if (!axis.ok()) return std::nullopt;
  const Dim& dim = dims[*axis];
  return dim.known() ? std::optional(dim.value - 1) : std::nullopt;
}

}  // namespace pt
