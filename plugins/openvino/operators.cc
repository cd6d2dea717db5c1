#include "plugins/openvino/operators.h"

#include <algorithm>
#include <array>

#include "partitiontuner/graph/operators/recurrence.h"
#include "plugins/shared/operators.h"

namespace pt::openvino {
namespace {

using plugins::NotTraining;
using plugins::StretchesImages;
using plugins::WithOneOutput;
using Row = plugins::TakenRow;

// OpenVINO's front end passes over peepholes, and so computes something else.
std::string PlainRecurrence(const Graph&, const Node& node) {
  const Result<RecurrenceNode> recurrence = ReadRecurrence(node);
  if (!recurrence.ok()) return recurrence.error().message;
  if (!recurrence->activations.empty() || !recurrence->alphas.empty() || !recurrence->betas.empty())
    return "activations are not here";
  if (recurrence->clip != 0 || recurrence->input_forget) return "clip and input_forget are not here";
  constexpr size_t kPeepholes = 7;
  return node.inputs.size() <= kPeepholes || !node.inputs[kPeepholes].valid() ? "" : "peepholes are not here";
}

// In alphabetical order.
constexpr std::array kRows = {
    Row{"Abs"},
    Row{"Add"},
    Row{"AveragePool"},
    Row{"BatchNormalization", NotTraining},
    Row{"Ceil"},
    Row{"Clip"},
    Row{"Concat"},
    Row{"Conv"},
    Row{"ConvTranspose"},
    Row{"DepthToSpace"},
    Row{"Div"},
    Row{"Elu"},
    Row{"Erf"},
    Row{"Exp"},
    Row{"Expand"},
    Row{"Flatten"},
    Row{"Floor"},
    Row{"GRU", PlainRecurrence},
    Row{"Gather"},
    Row{"Gelu"},
    Row{"Gemm"},
    Row{"GlobalAveragePool"},
    Row{"GlobalMaxPool"},
    Row{"GroupNormalization"},
    Row{"HardSigmoid"},
    Row{"HardSwish"},
    Row{"InstanceNormalization"},
    Row{"LRN"},
    Row{"LSTM", PlainRecurrence},
    Row{"LayerNormalization", WithOneOutput},
    Row{"LeakyRelu"},
    Row{"Log"},
    Row{"LogSoftmax"},
    Row{"MatMul"},
    Row{"Max"},
    Row{"MaxPool", WithOneOutput},
    Row{"Min"},
    Row{"Mish"},
    Row{"Mul"},
    Row{"Neg"},
    Row{"PRelu"},
    Row{"Pad"},
    Row{"Pow"},
    Row{"ReduceL1"},
    Row{"ReduceL2"},
    Row{"ReduceMax"},
    Row{"ReduceMean"},
    Row{"ReduceMin"},
    Row{"ReduceSum"},
    Row{"Relu"},
    Row{"Reshape"},
    Row{"Resize", StretchesImages},
    Row{"Selu"},
    Row{"Sigmoid"},
    Row{"Slice"},
    Row{"Softmax"},
    Row{"Softplus"},
    Row{"Softsign"},
    Row{"SpaceToDepth"},
    Row{"Split"},
    Row{"Sqrt"},
    Row{"Squeeze"},
    Row{"Sub"},
    Row{"Tanh"},
    Row{"Tile"},
    Row{"Transpose"},
    Row{"Unsqueeze"},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

}  // namespace

// Nothing quantised is in the table.
std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id) {
  return plugins::WhyNotTaken(graph, id, kRows, false);
}

}  // namespace pt::openvino
