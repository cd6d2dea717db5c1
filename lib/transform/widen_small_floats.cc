// float16 and bfloat16 networks in float32: no library has arithmetic for these types, and most processors have none
// either. The operators listed here compute the same in float32, only more exactly, so they read and write float32, and
// a Cast stands where the small type was given in or is asked for. FoldConstants then converts the weights once. A Cast
// of the model itself still rounds, and so does whatever is not arithmetic (comparisons, TopK, ...).
#include <algorithm>
#include <array>
#include <map>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"

namespace pt {
namespace {

// Operators whose floating-point inputs and outputs may all be float32 instead.
constexpr auto kWidened = std::to_array<std::string_view>({
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Attention",
    "AveragePool",
    "BatchNormalization",
    "Ceil",
    "Celu",
    "Clip",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Cos",
    "Cosh",
    "CumSum",
    "DepthToSpace",
    "Div",
    "Einsum",
    "Elu",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Floor",
    "GRU",
    "Gather",
    "GatherElements",
    "GatherND",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "GridSample",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "InstanceNormalization",
    "LRN",
    "LSTM",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "LpPool",
    "MatMul",
    "Max",
    "MaxPool",
    "Mean",
    "MeanVarianceNormalization",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "PRelu",
    "Pad",
    "Pow",
    "RMSNormalization",
    "RNN",
    "Reciprocal",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Relu",
    "Reshape",
    "Resize",
    "RotaryEmbedding",
    "Round",
    "ScatterElements",
    "ScatterND",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Slice",
    "Softmax",
    "Softplus",
    "Softsign",
    "SpaceToDepth",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
});
static_assert(std::ranges::is_sorted(kWidened));

bool IsSmallFloat(DataType type) { return type == DataType::kFloat16 || type == DataType::kBfloat16; }

class Widening {
 public:
  explicit Widening(const Graph& graph) : builder_(graph) {}

  Result<std::optional<Graph>> Run() {
    const size_t nodes = builder_.graph().nodes().size();
    for (size_t i = 0; i < nodes; ++i) Visit(NodeId(i));
    return BuildIfChanged(builder_, changed_);
  }

 private:
  bool IsSmall(ValueId value) const {
    if (!value.valid()) return false;
    const ValueType& type = builder_.graph().value(value).type;
    return type.other.empty() && IsSmallFloat(type.type);
  }

  void Visit(NodeId id) {
    const Node& node = builder_.graph().node(id);
    if (!node.domain.empty() || !node.subgraphs.empty() || !std::ranges::binary_search(kWidened, node.op)) return;
    const auto small = [&](ValueId value) { return IsSmall(value); };
    if (std::ranges::none_of(node.inputs, small) && std::ranges::none_of(node.outputs, small)) return;
    const std::vector<ValueId> inputs = node.inputs, outputs = node.outputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!IsSmall(inputs[i])) continue;
      const ValueId wide = Widened(inputs[i]);
      builder_.node(id).inputs[i] = wide;
    }
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (IsSmall(outputs[o])) WidenOutput(id, o, outputs[o]);
    }
    changed_ = true;
  }

  // The float32 value that stands for `value`. Nodes are visited in topological order, so whoever makes it has been
  // widened already if it ever will be.
  ValueId Widened(ValueId value) {
    if (const auto at = widened_.find(value); at != widened_.end()) return at->second;
    const ValueId wide = AddWideValue(value);
    AddCast(value, wide, {});
    widened_.emplace(value, wide);
    return wide;
  }

  // The node makes a float32 value; the old one is rounded from it, for readers that stay as they are.
  void WidenOutput(NodeId id, size_t index, ValueId old) {
    const ValueId wide = AddWideValue(old);
    builder_.node(id).outputs[index] = wide;
    AddCast(wide, old, builder_.graph().node(id).source);
    widened_.emplace(old, wide);
  }

  ValueId AddWideValue(ValueId like) {
    ValueType type = builder_.graph().value(like).type;
    type.type = DataType::kFloat32;
    return builder_.AddValue("", std::move(type));
  }

  void AddCast(ValueId from, ValueId to, std::vector<Source> source) {
    Node cast;
    cast.op = "Cast";
    cast.inputs = {from};
    cast.outputs = {to};
    cast.attributes["to"] = static_cast<int64_t>(builder_.graph().value(to).type.type);
    cast.source = std::move(source);
    builder_.AddNode(std::move(cast));
  }

  GraphBuilder builder_;
  std::map<ValueId, ValueId> widened_;  // of a small type -> float32
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> WidenSmallFloats(const Graph& graph, const PassContext&) { return Widening(graph).Run(); }

}  // namespace pt
