// One operator becomes several with a part of its output channels or columns each.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "lib/transform/edit.h"
#include "partitiontuner/graph/find_nodes.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/transform/rewrites.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

// Kernels work on blocks of so many channels.
constexpr int64_t kBlock = 16;

// In whole blocks where there are enough.
Dims LengthsOf(int64_t count, uint32_t parts) {
  return EqualParts(count, parts, count % kBlock == 0 && count / kBlock >= parts ? kBlock : 1);
}

// What lies between two places on an axis.
Tensor SliceOf(const Tensor& whole, size_t axis, int64_t from, int64_t length) {
  Dims dims = whole.dims();
  const int64_t along = dims[axis];
  dims[axis] = length;
  const int64_t element = BytesOf(whole.type());
  int64_t outer = 1, inner = element;
  for (size_t i = 0; i < axis; ++i) outer *= dims[i];
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const auto at = [&](int64_t line) { return static_cast<size_t>((line * along + from) * inner); };
  const auto bytes = static_cast<size_t>(length * inner);
  if (outer == 1) {  // in one piece: nothing is copied
    auto owner = std::make_shared<const Tensor>(whole);
    return Tensor::FromShared(whole.type(), std::move(dims), owner, owner->bytes().subspan(at(0), bytes)).value();
  }
  std::string copy(static_cast<size_t>(outer) * bytes, '\0');
  for (int64_t line = 0; line < outer; ++line) {
    std::memcpy(copy.data() + static_cast<size_t>(line) * bytes, whole.bytes().data() + at(line), bytes);
  }
  return Tensor::FromBytes(whole.type(), std::move(dims), std::move(copy)).value();
}

// How a node's result is cut, and which axes of its constants go along.
struct Cut {
  size_t axis = 0;    // of the result
  int64_t count = 0;  // along it
  struct Constant {
    size_t input = 0, axis = 0;
  };
  std::vector<Constant> constants;
};

class Splitter {
 public:
  Splitter(const Graph& graph, uint32_t parts) : graph_(graph), builder_(graph), parts_(parts) {}

  // Why not; empty when it was split.
  std::string Split(NodeId id) {
    std::string why;
    const std::optional<Cut> cut = CutOf(graph_.node(id), why);
    if (!cut) return why;
    const Dims lengths = LengthsOf(cut->count, parts_);
    std::vector<ValueId> parts = PartsOf(id, *cut, {}, lengths);
    ValueId whole = graph_.node(id).outputs[0];
    for (NodeId next = OnlyReader(graph_, whole); next.valid(); next = OnlyReader(graph_, whole)) {
      const std::optional<Cut> follows = FollowingCut(graph_.node(next), whole, *cut);
      if (!follows) break;
      parts = PartsOf(next, *follows, parts, lengths);
      whole = graph_.node(next).outputs[0];
    }
    Node concat;
    concat.op = "Concat";
    concat.attributes["axis"] = static_cast<int64_t>(cut->axis);
    concat.inputs = std::move(parts);
    concat.outputs = {whole};
    concat.source = graph_.node(id).source;
    builder_.AddNode(std::move(concat));
    return "";
  }

  Result<Graph> Build() { return builder_.Build(false); }

 private:
  std::optional<Cut> CutOf(const Node& node, std::string& why) const;
  std::optional<Cut> CutOfProduct(const Node& node, std::string& why) const;
  std::optional<Cut> FollowingCut(const Node& node, ValueId data, const Cut& before) const;

  const Tensor* ConstantAt(const Node& node, size_t input) const {
    if (input >= node.inputs.size() || !node.inputs[input].valid()) return nullptr;
    const Value& value = graph_.value(node.inputs[input]);
    return value.is_constant() && BytesOf(value.constant->type()) > 0 ? &*value.constant : nullptr;
  }
  bool HasInput(const Node& node, size_t input) const {
    return input < node.inputs.size() && node.inputs[input].valid();
  }

  // The node once for each part; `data`: the parts that it reads in place of its first input, none: all of it.
  std::vector<ValueId> PartsOf(NodeId id, const Cut& cut, const std::vector<ValueId>& data, const Dims& lengths) {
    const Node whole = graph_.node(id);
    std::vector<ValueId> parts;
    int64_t from = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      Node part = whole;
      if (!data.empty()) part.inputs[0] = data[i];
      for (const Cut::Constant& constant : cut.constants) {
        const Tensor& tensor = *ConstantAt(whole, constant.input);
        part.inputs[constant.input] = builder_.AddConstant("", SliceOf(tensor, constant.axis, from, lengths[i]));
      }
      ValueType type = graph_.value(whole.outputs[0]).type;
      type.dims[cut.axis] = {lengths[i], ""};
      parts.push_back(builder_.AddValue("", std::move(type)));
      part.outputs = {parts.back()};
      builder_.AddNode(std::move(part));
      from += lengths[i];
    }
    builder_.RemoveNode(id);
    return parts;
  }

  const Graph& graph_;
  GraphBuilder builder_;
  const uint32_t parts_;
};

std::optional<Cut> Splitter::CutOf(const Node& node, std::string& why) const {
  const std::optional<Dims> out =
      node.outputs.empty() ? std::nullopt : graph_.value(node.outputs[0]).type.static_dims();
  if (!out) {
    why = "its result has no sizes that are known before the run";
    return std::nullopt;
  }
  std::optional<Cut> cut;
  if (IsOp(node, "Conv")) {
    const Tensor* weights = ConstantAt(node, 1);
    if (weights == nullptr || (HasInput(node, 2) && ConstantAt(node, 2) == nullptr)) {
      why = "its weights are no constants";
    } else if (node.int_or("group", 1) != 1) {
      why = "it has groups";
    } else {
      cut = Cut{1, (*out)[1], {{1, 0}}};
      if (HasInput(node, 2)) cut->constants.push_back({2, 0});
    }
  } else if (IsOp(node, "MatMul") || IsOp(node, "Gemm")) {
    cut = CutOfProduct(node, why);
  } else {
    why = "it is none of Conv, MatMul and Gemm";
  }
  if (cut && cut->count < static_cast<int64_t>(parts_)) {
    why = "it has " + std::to_string(cut->count) + " output channels or columns";
    return std::nullopt;
  }
  return cut;
}

std::optional<Cut> Splitter::CutOfProduct(const Node& node, std::string& why) const {
  const Tensor* weights = ConstantAt(node, 1);
  const Dims out = *graph_.value(node.outputs[0]).type.static_dims();
  if (weights == nullptr || weights->rank() != 2 || out.size() < 2) {
    why = "its second matrix is no constant of two dims";
    return std::nullopt;
  }
  const bool gemm = IsOp(node, "Gemm");
  Cut cut{out.size() - 1, out.back(), {{1, gemm && node.int_or("transB", 0) != 0 ? size_t{0} : size_t{1}}}};
  if (gemm && HasInput(node, 2)) {
    const Tensor* bias = ConstantAt(node, 2);
    if (bias == nullptr) {
      why = "its bias is no constant";
      return std::nullopt;
    }
    const Dims& dims = bias->dims();
    if (!dims.empty() && dims.back() == out.back()) cut.constants.push_back({2, dims.size() - 1});
  }
  return cut;
}

// Of a node that is elementwise over `data` as its first input, with constants that can be cut alike.
std::optional<Cut> Splitter::FollowingCut(const Node& node, ValueId data, const Cut& before) const {
  constexpr std::array<std::string_view, 11> kUnary = {
      "Relu", "LeakyRelu", "Elu", "Gelu", "Tanh", "Sigmoid", "HardSwish", "HardSigmoid", "Softplus", "Clip", "Mish"};
  constexpr std::array<std::string_view, 4> kBinary = {"Add", "Mul", "Sub", "Div"};
  const auto is_one_of = [&](const auto& ops) { return std::find(ops.begin(), ops.end(), node.op) != ops.end(); };
  if (!node.domain.empty() || node.inputs[0] != data || node.outputs.size() != 1) return std::nullopt;
  Cut cut{before.axis, before.count, {}};
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (HasInput(node, i) && ConstantAt(node, i) == nullptr) return std::nullopt;
  }
  if (is_one_of(kUnary)) return cut;
  const Dims dims = *graph_.value(data).type.static_dims();
  if (!is_one_of(kBinary) || graph_.value(node.outputs[0]).type.static_dims() != dims) return std::nullopt;
  const Dims& other = ConstantAt(node, 1)->dims();
  const size_t missing = dims.size() - std::min(dims.size(), other.size());
  if (before.axis >= missing && other[before.axis - missing] != 1) {
    cut.constants.push_back({1, before.axis - missing});
  }
  return cut;
}

}  // namespace

Result<Graph> SplitNodes(const Graph& graph, const NodeSplit& split) {
  const std::vector<NodeId> nodes = FindNodes(graph, split.nodes);
  Splitter splitter(graph, split.parts);
  size_t done = 0;
  std::string first_fault;
  for (const NodeId node : nodes) {
    const std::string why = splitter.Split(node);
    if (why.empty()) ++done;
    if (!why.empty() && first_fault.empty()) first_fault = NodeLabel(graph, node) + ": " + why;
  }
  if (done > 0) return splitter.Build();
  const std::string what = "\"" + split.nodes + "\" into " + std::to_string(split.parts) + " parts";
  if (nodes.empty()) {
    return MakeError(ErrorCode::kUsage, "rewrite.split", "cannot split " + what + ": no node is called so",
                     "pt-plan -v lists the nodes of each step");
  }
  return MakeError(ErrorCode::kUsage, "rewrite.split", "cannot split " + what + ": " + first_fault,
                   "a Conv without groups, or a MatMul or Gemm with constant weights, can be split");
}

}  // namespace pt
