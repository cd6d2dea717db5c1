#include "plugins/openvino/operators.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace pt::openvino {
namespace {

struct Row {
  std::string_view op;
  // Of attributes and inputs beyond their types; "" when it is taken. May be null.
  std::string (*why_not)(const Graph& graph, const Node& node) = nullptr;
};

std::string WithOneOutput(const Graph&, const Node& node) {
  return node.outputs.size() == 1 ? "" : "only its first output is here";
}

std::string NotTraining(const Graph&, const Node& node) {
  return node.int_or("training_mode", 0) == 0 ? "" : "training is not here";
}

// OpenVINO's front end passes over peepholes, and so computes something else.
std::string PlainRecurrence(const Graph&, const Node& node) {
  for (const char* attribute : {"activations", "activation_alpha", "activation_beta", "clip", "input_forget"}) {
    if (node.find(attribute) != nullptr) return std::string("attribute ") + attribute + " is not here";
  }
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
    Row{"Resize"},
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

// As an input it may be a constant of other types: axes, shapes, indices.
std::string WrongType(const Value& value) {
  const auto dims = value.type.static_dims();
  const bool fits = dims && value.type.type == DataType::kFloat32 && std::ranges::find(*dims, 0) == dims->end();
  return fits ? ""
              : "\"" + value.name + "\" is " + ToString(value.type) + ", no float32 tensor of known dims with elements";
}

bool IsTakenConstant(const Value& value) {
  if (!value.is_constant()) return false;
  const DataType type = value.constant->type();
  return type == DataType::kFloat32 || type == DataType::kInt64 || type == DataType::kInt32 || type == DataType::kBool;
}

}  // namespace

std::optional<std::string> WhyNotTaken(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto row = std::ranges::lower_bound(kRows, std::string_view(node.op), {}, &Row::op);
  if (!node.domain.empty() || row == kRows.end() || row->op != node.op) return node.op + " is not here";
  bool computes = false;
  for (const ValueId input : node.inputs) {
    if (!input.valid() || IsTakenConstant(graph.value(input))) continue;
    computes = true;
    if (std::string fault = WrongType(graph.value(input)); !fault.empty()) return node.op + ": " + fault;
  }
  if (!computes) return node.op + ": all its inputs are constants";
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    if (std::string fault = WrongType(graph.value(output)); !fault.empty()) return node.op + ": " + fault;
  }
  if (row->why_not == nullptr) return std::nullopt;
  const std::string why_not = row->why_not(graph, node);
  return why_not.empty() ? std::nullopt : std::optional(node.op + ": " + why_not);
}

}  // namespace pt::openvino
