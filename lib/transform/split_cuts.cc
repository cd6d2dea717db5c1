#include "lib/transform/split_cuts.h"

#include <algorithm>
#include <array>

#include "lib/transform/edit.h"
#include "partitiontuner/graph/operators/gemm.h"
#include "partitiontuner/graph/operators/windows.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

// Kernels work on blocks of this many channels.
constexpr int64_t kBlock = 16;

const Tensor* ConstantAt(const Graph& graph, const Node& node, size_t input) {
  if (input >= node.inputs.size() || !node.inputs[input].valid()) return nullptr;
  const Value& value = graph.value(node.inputs[input]);
  return value.is_constant() && BytesOf(value.constant->type()) > 0 ? &*value.constant : nullptr;
}

bool HasInput(const Node& node, size_t input) { return input < node.inputs.size() && node.inputs[input].valid(); }

Error CannotBe(std::string why) { return MakeError(ErrorCode::kUsage, "rewrite.split", std::move(why)); }

std::optional<Dims> DimsAt(const Graph& graph, const Node& node, size_t input) {
  return HasInput(node, input) ? graph.value(node.inputs[input]).type.static_dims() : std::nullopt;
}

Result<Cut> ChannelsOfConvolution(const Graph& graph, const Node& node, const Dims& out) {
  if (ConstantAt(graph, node, 1) == nullptr || (HasInput(node, 2) && ConstantAt(graph, node, 2) == nullptr)) {
    return CannotBe("its weights are not constant");
  }
  if (ReadConvolutionGroups(node) != 1) return CannotBe("it has groups");
  Cut cut{1, out[1], kBlock, {{1, 0}}, {}};
  if (HasInput(node, 2)) cut.constants.push_back({2, 0});
  return cut;
}

// Padding of the first spatial axis before its first row.
int64_t PadBegin(const WindowNode& window, const InputRows& rows, int64_t out) {
  if (window.auto_pad == AutoPad::kValid) return 0;
  if (!window.is_same()) return window.pads[0];
  return window.Before(std::max<int64_t>(0, (out - 1) * rows.stride + rows.extent - rows.length));
}

Result<Cut> RowsOfConvolution(const Graph& graph, const Node& node, const Dims& out) {
  const std::optional<Dims> data = DimsAt(graph, node, 0), weights = DimsAt(graph, node, 1);
  if (!data || !weights || data->size() < 3 || weights->size() != data->size() || data->size() != out.size()) {
    return CannotBe("its inputs have no sizes that are known before the run");
  }
  const size_t spatial = data->size() - 2;
  const Result<WindowNode> window = ReadWindowNode(node, spatial);
  if (!window.ok()) return CannotBe(window.error().message);
  InputRows rows{2, (*data)[2], window->strides[0], 0, 0, true};
  rows.extent = ((*weights)[2] - 1) * window->dilations[0] + 1;
  rows.pad_begin = PadBegin(*window, rows, out[2]);
  if (window->is_same() && spatial > 1) {
    return CannotBe("the padding of its other axes is not given in numbers");
  }
  if (rows.pad_begin >= rows.extent || (out[2] - 1) * rows.stride - rows.pad_begin >= rows.length) {
    return CannotBe("some of its rows are made of padding alone");
  }
  return Cut{2, out[2], 1, {}, rows};
}

Result<Cut> ColumnsOfProduct(const Graph& graph, const Node& node, const Dims& out) {
  const Tensor* weights = ConstantAt(graph, node, 1);
  if (weights == nullptr || weights->rank() != 2 || out.size() < 2) {
    return CannotBe("its second matrix is not a constant of two dims");
  }
  const bool gemm = node.op == "Gemm";
  Cut cut{out.size() - 1, out.back(), kBlock, {{1, gemm && ReadGemm(node).transpose_b ? size_t{0} : size_t{1}}}, {}};
  if (gemm && HasInput(node, 2)) {
    const Tensor* bias = ConstantAt(graph, node, 2);
    if (bias == nullptr) return CannotBe("its bias is not constant");
    const Dims& dims = bias->dims();
    if (!dims.empty() && dims.back() == out.back()) cut.constants.push_back({2, dims.size() - 1});
  }
  return cut;
}

Result<Cut> RowsOfProduct(const Graph& graph, const Node& node, const Dims& out) {
  const std::optional<Dims> data = DimsAt(graph, node, 0), weights = DimsAt(graph, node, 1);
  if (!data || !weights || data->size() < 2 || weights->size() < 2 || out.size() < 2) {
    return CannotBe("it has no two matrices with sizes that are known before the run");
  }
  const bool turned = node.op == "Gemm" && ReadGemm(node).transpose_a;
  const size_t axis = data->size() - (turned ? 1 : 2);
  Cut cut{out.size() - 2, out[out.size() - 2], 1, {}, InputRows{axis, (*data)[axis], 1, 1, 0, false}};
  if (const std::optional<Dims> bias = DimsAt(graph, node, 2); bias && bias->size() == 2 && (*bias)[0] != 1) {
    if (ConstantAt(graph, node, 2) == nullptr) return CannotBe("its bias is not constant");
    cut.constants.push_back({2, 0});
  }
  return cut;
}

}  // namespace

Result<Cut> CutOf(const Graph& graph, const Node& node, uint32_t parts, SplitAxis axis) {
  const bool has_result = !node.outputs.empty() && node.outputs[0].valid();
  const std::optional<Dims> out = has_result ? graph.value(node.outputs[0]).type.static_dims() : std::nullopt;
  if (!out) return CannotBe("its result has no sizes that are known before the run");
  const bool convolution = IsOp(node, "Conv"), rows = axis == SplitAxis::kRows;
  if (!convolution && !IsOp(node, "MatMul") && !IsOp(node, "Gemm")) {
    return CannotBe("it is not a Conv, MatMul or Gemm");
  }
  PT_ASSIGN(Cut cut, convolution
                         ? (rows ? RowsOfConvolution(graph, node, *out) : ChannelsOfConvolution(graph, node, *out))
                         : (rows ? RowsOfProduct(graph, node, *out) : ColumnsOfProduct(graph, node, *out)));
  if (cut.count >= static_cast<int64_t>(parts)) return cut;
  return CannotBe("it has " + std::to_string(cut.count) + (rows ? " rows" : " output channels or columns"));
}

std::optional<Cut> FollowingCut(const Graph& graph, const Node& node, ValueId data, const Cut& before) {
  constexpr std::array<std::string_view, 11> kUnary = {
      "Relu", "LeakyRelu", "Elu", "Gelu", "Tanh", "Sigmoid", "HardSwish", "HardSigmoid", "Softplus", "Clip", "Mish"};
  constexpr std::array<std::string_view, 4> kBinary = {"Add", "Mul", "Sub", "Div"};
  const auto is_one_of = [&](const auto& ops) { return std::find(ops.begin(), ops.end(), node.op) != ops.end(); };
  if (!node.domain.empty() || node.inputs[0] != data || node.outputs.size() != 1) return std::nullopt;
  Cut cut{before.axis, before.count, before.block, {}, {}};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (HasInput(node, i) && ConstantAt(graph, node, i) == nullptr) return std::nullopt;
  }
  if (is_one_of(kUnary)) return cut;
  const Dims dims = *graph.value(data).type.static_dims();
  if (!is_one_of(kBinary) || graph.value(node.outputs[0]).type.static_dims() != dims) return std::nullopt;
  const Dims& other = ConstantAt(graph, node, 1)->dims();
  const size_t missing = dims.size() - std::min(dims.size(), other.size());
  if (before.axis >= missing && other[before.axis - missing] != 1) {
    cut.constants.push_back({1, before.axis - missing});
  }
  return cut;
}

}  // namespace pt
