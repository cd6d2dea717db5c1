// One operator becomes several with a part of its result each.
#include <algorithm>

#include "lib/transform/edit.h"
#include "lib/transform/split_cuts.h"
#include "partitiontuner/graph/find_nodes.h"
#include "partitiontuner/graph/operators/windows.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

Dims LengthsOf(const Cut& cut, uint32_t parts) {
  const bool whole_blocks = cut.count % cut.block == 0 && cut.count / cut.block >= parts;
  return EqualParts(cut.count, parts, whole_blocks ? cut.block : 1);
}

class Splitter {
 public:
  Splitter(const Graph& graph, uint32_t parts, SplitAxis axis)
      : graph_(graph), builder_(graph), parts_(parts), axis_(axis) {}

  // Why not; empty when it was split.
  std::string Split(NodeId id) {
    const Result<Cut> cut = CutOf(graph_, graph_.node(id), parts_, axis_);
    if (!cut.ok()) return cut.error().message;
    const Dims lengths = LengthsOf(*cut, parts_);
    std::vector<ValueId> parts = PartsOf(id, *cut, {}, lengths);
    ValueId whole = graph_.node(id).outputs[0];
    for (NodeId next = OnlyReader(graph_, whole); next.valid(); next = OnlyReader(graph_, whole)) {
      const std::optional<Cut> follows = FollowingCut(graph_, graph_.node(next), whole, *cut);
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
  // The node once for each part; `data`: the parts that it reads in place of its first input, none: what its cut says.
  std::vector<ValueId> PartsOf(NodeId id, const Cut& cut, const std::vector<ValueId>& data, const Dims& lengths) {
    const Node whole = graph_.node(id);
    std::vector<ValueId> parts;
    int64_t from = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      Node part = whole;
      if (!data.empty()) part.inputs[0] = data[i];
      if (cut.rows) ReadRows(*cut.rows, from, lengths[i], part);
      for (const Cut::Constant& constant : cut.constants) {
        const Tensor& tensor = *graph_.value(whole.inputs[constant.input]).constant;
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

  // Lets the part read what `length` rows from `from` on need.
  void ReadRows(const InputRows& rows, int64_t from, int64_t length, Node& part) {
    const int64_t first = from * rows.stride - rows.pad_begin;
    const int64_t end = (from + length - 1) * rows.stride + rows.extent - rows.pad_begin;
    const int64_t begin = std::max<int64_t>(first, 0), stop = std::min(end, rows.length);
    if (rows.padded) SetPads(part, begin - first, end - stop);
    if (begin > 0 || stop < rows.length) part.inputs[0] = AddSlice(part, rows.axis, begin, stop);
  }

  void SetPads(Node& part, int64_t before, int64_t behind) {
    const size_t spatial = graph_.value(part.outputs[0]).type.dims.size() - 2;
    const Result<WindowNode> window = ReadWindowNode(part, spatial);
    Dims pads = window.ok() ? window->pads : Dims(2 * spatial, 0);
    pads[0] = before;
    pads[spatial] = behind;
    part.attributes["pads"] = std::move(pads);
    part.attributes.erase("auto_pad");
  }

  ValueId AddSlice(const Node& part, size_t axis, int64_t begin, int64_t end) {
    const auto number = [&](int64_t value) { return builder_.AddConstant("", Tensor::Int64({1}, {value})); };
    ValueType type = graph_.value(part.inputs[0]).type;
    type.dims[axis] = {end - begin, ""};
    Node slice;
    slice.op = "Slice";
    slice.inputs = {part.inputs[0], number(begin), number(end), number(static_cast<int64_t>(axis))};
    slice.outputs = {builder_.AddValue("", std::move(type))};
    slice.source = part.source;
    const ValueId rows = slice.outputs[0];
    builder_.AddNode(std::move(slice));
    return rows;
  }

  const Graph& graph_;
  GraphBuilder builder_;
  const uint32_t parts_;
  const SplitAxis axis_;
};

}  // namespace

std::string SplitFault(const Graph& graph, NodeId node, uint32_t parts, SplitAxis axis) {
  const Result<Cut> cut = CutOf(graph, graph.node(node), parts, axis);
  return cut.ok() ? std::string() : cut.error().message;
}

Result<Graph> SplitNodes(const Graph& graph, const NodeSplit& split) {
  const std::vector<NodeId> nodes = FindNodes(graph, split.nodes);
  Splitter splitter(graph, split.parts, split.axis);
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
                   "a Conv without groups, or a MatMul or Gemm with constant weights, can be split by channels; with "
                   "sizes that are known before the run, all of them by rows");
}

}  // namespace pt
