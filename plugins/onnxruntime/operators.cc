#include "plugins/onnxruntime/operators.h"

#include <algorithm>
#include <array>

#include "partitiontuner/graph/operators/attention.h"
#include "partitiontuner/graph/operators/recurrence.h"
#include "plugins/shared/operators.h"

namespace pt::onnxruntime {
namespace {

using plugins::NotTraining;
using plugins::StretchesImages;
using plugins::WithOneOutput;
using Row = plugins::TakenRow;

constexpr plugins::TypeSet kNumbers = {DataType::kFloat32, DataType::kInt32, DataType::kInt64};
constexpr plugins::TypeSet kAll = {DataType::kFloat32, DataType::kInt32, DataType::kInt64, DataType::kBool};
// Of what moves elements as they are, or picks some of them.
constexpr plugins::TypeSet kMoved = {DataType::kFloat32, DataType::kInt32, DataType::kInt64,
                                     DataType::kBool,    DataType::kInt8,  DataType::kUint8};
// Of what turns numbers into integers of 8 bits, back, or computes with them; sums are int32.
constexpr plugins::TypeSet kQuantised = {DataType::kFloat32, DataType::kInt8, DataType::kUint8, DataType::kInt32};
constexpr plugins::TypeSet kBytes = {DataType::kFloat32, DataType::kInt8, DataType::kUint8};

// ONNX Runtime refuses in the run what it took before: it wants caches of half a head, whatever part of it is turned.
std::string WholeHeads(const Graph&, const Node& node) {
  return ReadRotaryEmbedding(node).turned == 0 ? "" : "rotary_embedding_dim is not here";
}

// ONNX Runtime refuses in the run, or once it has fused them, what it took before: one zero point for the scales of
// many channels, and single ones that are not scalars.
std::string MatchingZeroPoint(const Graph& graph, const Node& node) {
  constexpr size_t kScale = 1, kZeroPoint = 2;
  const auto dims_of = [&](size_t input) { return graph.value(node.inputs[input]).type.static_dims(); };
  const auto scale = dims_of(kScale);
  if (scale == std::vector<int64_t>{1}) return "a scale of one element must be a scalar";
  if (node.inputs.size() <= kZeroPoint || !node.inputs[kZeroPoint].valid()) return "";
  return scale == dims_of(kZeroPoint) ? "" : "a zero point of other dims than the scale is not here";
}

// ONNX Runtime refuses in the run zero points of A that differ by row.
std::string OneZeroPointOfA(const Graph& graph, const Node& node) {
  constexpr size_t kZeroPoint = 2;
  if (node.inputs.size() <= kZeroPoint || !node.inputs[kZeroPoint].valid()) return "";
  const auto dims = graph.value(node.inputs[kZeroPoint]).type.static_dims();
  const bool is_one = dims && (dims->empty() || *dims == std::vector<int64_t>{1});
  return is_one ? "" : "zero points of the first matrix that differ by row are not here";
}

// ONNX Runtime does not clip the cell before the function of the output, which the standard does.
std::string WithoutClip(const Graph&, const Node& node) {
  const Result<RecurrenceNode> recurrence = ReadRecurrence(node);
  if (!recurrence.ok()) return recurrence.error().message;
  return recurrence->clip == 0 ? "" : "clip is not here";
}

// In alphabetical order.
constexpr std::array kRows = {
    Row{"Abs"},
    Row{"Add", nullptr, kNumbers},
    Row{"And", nullptr, kAll},
    Row{"ArgMax", nullptr, kNumbers},
    Row{"ArgMin", nullptr, kNumbers},
    Row{"AveragePool"},
    Row{"BatchNormalization", NotTraining},
    Row{"Ceil"},
    Row{"Clip"},
    Row{"Concat", nullptr, kMoved},
    Row{"Conv"},
    Row{"ConvInteger", nullptr, kQuantised},
    Row{"ConvTranspose"},
    Row{"Cos"},
    Row{"CumSum"},
    Row{"DepthToSpace"},
    Row{"DequantizeLinear", MatchingZeroPoint, kQuantised, true},
    Row{"Div"},
    Row{"DynamicQuantizeLinear", nullptr, kQuantised},
    Row{"Elu"},
    Row{"Equal", nullptr, kAll},
    Row{"Erf"},
    Row{"Exp"},
    Row{"Expand", nullptr, kMoved},
    Row{"Flatten", nullptr, kMoved},
    Row{"Floor"},
    Row{"GRU"},
    Row{"Gather", nullptr, kMoved},
    Row{"GatherElements", nullptr, kMoved},
    Row{"GatherND", nullptr, kMoved},
    Row{"Gelu"},
    Row{"Gemm"},
    Row{"GlobalAveragePool"},
    Row{"GlobalMaxPool"},
    Row{"Greater", nullptr, kAll},
    Row{"GreaterOrEqual", nullptr, kAll},
    Row{"GridSample"},
    Row{"GroupNormalization"},
    Row{"HardSigmoid"},
    Row{"HardSwish"},
    Row{"InstanceNormalization"},
    Row{"LRN"},
    Row{"LSTM", WithoutClip},
    Row{"LayerNormalization", WithOneOutput},
    Row{"LeakyRelu"},
    Row{"Less", nullptr, kAll},
    Row{"LessOrEqual", nullptr, kAll},
    Row{"Log"},
    Row{"LogSoftmax"},
    Row{"LpNormalization"},
    Row{"MatMul"},
    Row{"MatMulInteger", OneZeroPointOfA, kQuantised},
    Row{"Max"},
    Row{"MaxPool", WithOneOutput, kBytes},
    Row{"Min"},
    Row{"Mish"},
    Row{"Mul", nullptr, kNumbers},
    Row{"Neg"},
    Row{"Not", nullptr, kAll},
    Row{"Or", nullptr, kAll},
    Row{"PRelu"},
    Row{"Pad"},
    Row{"Pow"},
    Row{"QLinearConv", nullptr, kQuantised},
    Row{"QLinearMatMul", nullptr, kQuantised},
    Row{"QuantizeLinear", MatchingZeroPoint, kQuantised},
    Row{"RNN"},
    Row{"Reciprocal"},
    Row{"ReduceL1"},
    Row{"ReduceL2"},
    Row{"ReduceLogSum"},
    Row{"ReduceLogSumExp"},
    Row{"ReduceMax", nullptr, kNumbers},
    Row{"ReduceMean"},
    Row{"ReduceMin", nullptr, kNumbers},
    Row{"ReduceProd"},
    Row{"ReduceSum", nullptr, kNumbers},
    Row{"ReduceSumSquare"},
    Row{"Relu"},
    Row{"Reshape", nullptr, kMoved},
    Row{"Resize", StretchesImages},
    Row{"RoiAlign"},
    Row{"RotaryEmbedding", WholeHeads},
    Row{"Round"},
    Row{"ScatterElements"},
    Row{"ScatterND"},
    Row{"Selu"},
    Row{"Sigmoid"},
    Row{"Sign"},
    Row{"Sin"},
    Row{"Slice", nullptr, kMoved},
    Row{"Softmax"},
    Row{"Softplus"},
    Row{"Softsign"},
    Row{"SpaceToDepth"},
    Row{"Split", nullptr, kMoved},
    Row{"Sqrt"},
    Row{"Squeeze", nullptr, kMoved},
    Row{"Sub", nullptr, kNumbers},
    Row{"Sum"},
    Row{"Tanh"},
    Row{"Tile", nullptr, kMoved},
    Row{"TopK", nullptr, kNumbers},
    Row{"Transpose", nullptr, kMoved},
    Row{"Trilu"},
    Row{"Unsqueeze", nullptr, kMoved},
    Row{"Where", nullptr, kAll},
    Row{"Xor", nullptr, kAll},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

}  // namespace

std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id, bool exact_products) {
  return plugins::WhyNotTaken(graph, id, kRows, exact_products);
}

}  // namespace pt::onnxruntime
