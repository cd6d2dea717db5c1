#include "plugins/onnxruntime/operators.h"

#include <algorithm>
#include <array>

#include "plugins/shared/operators.h"

namespace pt::onnxruntime {
namespace {

using plugins::NotTraining;
using plugins::WithOneOutput;
using Row = plugins::OperatorRow;

constexpr plugins::TypeSet kNumbers = {DataType::kFloat32, DataType::kInt32, DataType::kInt64};
constexpr plugins::TypeSet kAll = {DataType::kFloat32, DataType::kInt32, DataType::kInt64, DataType::kBool};

// ONNX Runtime refuses in the run what it took before: it wants caches of half a head, whatever part of it is turned.
std::string WholeHeads(const Graph&, const Node& node) {
  return node.int_or("rotary_embedding_dim", 0) == 0 ? "" : "rotary_embedding_dim is not here";
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
    Row{"Concat", nullptr, kAll},
    Row{"Conv"},
    Row{"ConvTranspose"},
    Row{"Cos"},
    Row{"CumSum"},
    Row{"DepthToSpace"},
    Row{"Div"},
    Row{"Elu"},
    Row{"Equal", nullptr, kAll},
    Row{"Erf"},
    Row{"Exp"},
    Row{"Expand", nullptr, kAll},
    Row{"Flatten", nullptr, kAll},
    Row{"Floor"},
    Row{"GRU"},
    Row{"Gather", nullptr, kAll},
    Row{"GatherElements", nullptr, kAll},
    Row{"GatherND", nullptr, kAll},
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
    Row{"LSTM"},
    Row{"LayerNormalization", WithOneOutput},
    Row{"LeakyRelu"},
    Row{"Less", nullptr, kAll},
    Row{"LessOrEqual", nullptr, kAll},
    Row{"Log"},
    Row{"LogSoftmax"},
    Row{"LpNormalization"},
    Row{"MatMul"},
    Row{"Max"},
    Row{"MaxPool", WithOneOutput},
    Row{"Min"},
    Row{"Mish"},
    Row{"Mul", nullptr, kNumbers},
    Row{"Neg"},
    Row{"Not", nullptr, kAll},
    Row{"Or", nullptr, kAll},
    Row{"PRelu"},
    Row{"Pad"},
    Row{"Pow"},
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
    Row{"Reshape", nullptr, kAll},
    Row{"Resize"},
    Row{"RoiAlign"},
    Row{"RotaryEmbedding", WholeHeads},
    Row{"Round"},
    Row{"ScatterElements"},
    Row{"ScatterND"},
    Row{"Selu"},
    Row{"Sigmoid"},
    Row{"Sign"},
    Row{"Sin"},
    Row{"Slice", nullptr, kAll},
    Row{"Softmax"},
    Row{"Softplus"},
    Row{"Softsign"},
    Row{"SpaceToDepth"},
    Row{"Split", nullptr, kAll},
    Row{"Sqrt"},
    Row{"Squeeze", nullptr, kAll},
    Row{"Sub", nullptr, kNumbers},
    Row{"Sum"},
    Row{"Tanh"},
    Row{"Tile", nullptr, kAll},
    Row{"TopK", nullptr, kNumbers},
    Row{"Transpose", nullptr, kAll},
    Row{"Trilu"},
    Row{"Unsqueeze", nullptr, kAll},
    Row{"Where", nullptr, kAll},
    Row{"Xor", nullptr, kAll},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::op));

}  // namespace

std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id) { return plugins::WhyNotTaken(graph, id, kRows); }

}  // namespace pt::onnxruntime
