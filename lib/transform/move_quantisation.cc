// Brings the two ends of a quantised stretch together. Where elements are only moved (Reshape, Transpose, …) or the
// largest of some is picked (MaxPool), integers stand for the real numbers just as well: a DequantizeLinear moves
// behind such a node, a QuantizeLinear moves before it, and a pair that meets with equal parameters vanishes. A Pad by
// zeros between such a pair is one of the integers by their zero point. All of it is exact: scales are moderate
// (LinearQuantisationOf), so that quantising what was dequantised gives the integer back. The matrix of a packed
// product is turned before its DequantizeLinear, block by block or not.
#include <algorithm>
#include <array>
#include <cmath>

#include "lib/transform/edit.h"
#include "lib/transform/packed_products.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"

namespace pt {
namespace {

// The output's elements are input 0's, whatever they are.
bool MovesElements(const Node& node) {
  constexpr std::array<std::string_view, 7> kOperators = {"Transpose", "Slice",        "Gather",      "Expand",
                                                          "Tile",      "DepthToSpace", "SpaceToDepth"};
  return IsReshaping(node) ||
         (node.domain.empty() && std::find(kOperators.begin(), kOperators.end(), node.op) != kOperators.end());
}

bool PicksLargest(const Node& node) { return IsOp(node, "MaxPool") && node.outputs.size() == 1; }

// A Pad that fills up with zeros of float32, its sizes given as an input, as they are where integers may be padded.
bool PadsWithZeros(const Graph& graph, const Node& node) {
  if (!IsOp(node, "Pad") || node.inputs.size() < 2 || !node.inputs[1].valid()) return false;
  const Result<PadMode> mode = ReadPadMode(node);
  if (!mode.ok() || *mode != PadMode::kConstant) return false;
  if (node.inputs.size() < 3 || !node.inputs[2].valid()) return true;
  const auto& fill = graph.value(node.inputs[2]).constant;
  if (!fill || fill->type() != DataType::kFloat32 || fill->element_count() != 1) return false;
  const float number = fill->values<float>()[0];
  return number == 0 && !std::signbit(number);
}

// One scale and zero point for the whole tensor, of 8-bit integers.
std::optional<LinearQuantisation> WholeBytes(const Graph& graph, const Node& node) {
  auto quantisation = LinearQuantisationOf(graph, node);
  const bool fits = quantisation && quantisation->is_whole() && IsByte(quantisation->type);
  return fits ? quantisation : std::nullopt;
}

class Mover {
 public:
  explicit Mover(const Graph& graph) : builder_(graph), producers_(ProducerTable(graph)) {}

  Result<std::optional<Graph>> Run() {
    const size_t count = builder_.graph().nodes().size();
    for (size_t i = 0; i < count; ++i) Visit(NodeId(i));
    return BuildIfChanged(builder_, changed_);
  }

 private:
  const Graph& graph() const { return builder_.graph(); }

  // The node that makes the value, when it is of that operator; invalid otherwise.
  NodeId Maker(ValueId value, bool (*is)(const Node&)) const {
    const NodeId producer = value.valid() ? producers_[value.index()] : NodeId();
    return producer.valid() && is(graph().node(producer)) ? producer : NodeId();
  }

  void Visit(NodeId id) {
    const Node& node = graph().node(id);
    if (node.inputs.empty() || node.outputs.size() != 1 || !node.outputs[0].valid()) return;
    if (IsQuantisation(node)) return VisitQuantisation(id);
    if (TurnsMatrix(graph(), node)) {
      const NodeId before = Maker(node.inputs[0], IsDequantisation);
      // What this pass has added has no uses yet; the next round looks at it.
      if (before.valid() && FeedsPackedProducts(graph(), before) && graph().value(node.inputs[0]).uses.size() == 1)
        return TurnPackedMatrix(id, before);
    }
    const bool concat = IsOp(node, "Concat");
    if (!concat && !MovesElements(node) && !PicksLargest(node)) return;
    MoveDequantisationBehind(id, concat ? node.inputs.size() : 1);
  }

  // The Transpose `id` of a packed matrix becomes one of its elements, scales and zero points.
  void TurnPackedMatrix(NodeId id, NodeId before) {
    Node after = graph().node(before);
    const bool by_blocks = graph().value(after.inputs[1]).type.dims.size() == 2;
    for (size_t i = 0; i < after.inputs.size(); ++i) {
      if (!after.inputs[i].valid() || (i > 0 && !by_blocks)) continue;
      ValueType type = graph().value(after.inputs[i]).type;
      std::swap(type.dims[0], type.dims[1]);
      Node turn = graph().node(id);
      turn.inputs[0] = after.inputs[i];
      after.inputs[i] = AddValue(std::move(type));
      turn.outputs = {after.inputs[i]};
      producers_[after.inputs[i].index()] = builder_.AddNode(std::move(turn));
    }
    after.attributes["axis"] =
        *ReadAxis(after, graph().opset(), 2) == 0 ? int64_t{1} : int64_t{0};  // it feeds a matrix
    const ValueId turned = graph().node(id).outputs[0];
    after.outputs = {turned};
    builder_.RemoveNode(id);
    producers_[turned.index()] = builder_.AddNode(std::move(after));
    changed_ = true;
  }

  // Moves the DequantizeLinear before each of the first `count` inputs behind the node, where they agree.
  void MoveDequantisationBehind(NodeId id, size_t count) {
    std::optional<LinearQuantisation> common;
    std::vector<ValueId> integers;
    NodeId first;
    for (size_t i = 0; i < count; ++i) {
      const NodeId before = Maker(graph().node(id).inputs[i], IsDequantisation);
      if (!before.valid()) return;
      const auto quantisation = WholeBytes(graph(), graph().node(before));
      if (!quantisation || (common && *common != *quantisation)) return;
      if (!first.valid()) first = before;
      common = quantisation;
      integers.push_back(graph().node(before).inputs[0]);
    }
    const ValueId real = graph().node(id).outputs[0];
    ValueType type = graph().value(real).type;
    if (!type.is_static()) return;
    type.type = common->type;
    Node after = graph().node(first);
    const ValueId moved = AddValue(std::move(type));
    after.inputs[0] = moved;
    after.outputs = {real};
    Node& node = builder_.node(id);
    for (size_t i = 0; i < count; ++i) node.inputs[i] = integers[i];
    node.outputs[0] = moved;
    producers_[moved.index()] = id;
    producers_[real.index()] = builder_.AddNode(std::move(after));
    changed_ = true;
  }

  void VisitQuantisation(NodeId id) {
    const auto quantisation = WholeBytes(graph(), graph().node(id));
    if (!quantisation) return;
    const ValueId real = graph().node(id).inputs[0], integers = graph().node(id).outputs[0];
    if (const NodeId before = Maker(real, IsDequantisation); before.valid()) {
      if (WholeBytes(graph(), graph().node(before)) != quantisation) return;
      changed_ |= BypassNode(builder_, producers_, id, integers, graph().node(before).inputs[0]);
      return;
    }
    const NodeId mover = Maker(real, [](const Node& n) { return MovesElements(n) || IsOp(n, "Concat"); });
    const bool read_here_alone = !graph().value(real).is_graph_output && graph().value(real).uses.size() == 1;
    // A value that this pass has made has no uses yet; the next round looks at it.
    if (mover.valid() && read_here_alone && graph().value(integers).type.is_static()) MoveBefore(id, mover);
    const NodeId pad = Maker(real, [](const Node& n) { return IsOp(n, "Pad"); });
    if (pad.valid() && read_here_alone && PadsWithZeros(graph(), graph().node(pad)))
      PadIntegers(id, pad, *quantisation);
  }

  // The Pad between a pair of equal parameters makes what the QuantizeLinear made.
  void PadIntegers(NodeId id, NodeId pad, const LinearQuantisation& quantisation) {
    const NodeId before = Maker(graph().node(pad).inputs[0], IsDequantisation);
    if (!before.valid() || WholeBytes(graph(), graph().node(before)) != quantisation) return;
    const ValueId integers = graph().node(id).outputs[0], read = graph().node(before).inputs[0];
    const auto zero = static_cast<uint8_t>(quantisation.zero_points[0]);
    const ValueId fill = builder_.AddConstant(
        "", Tensor::FromBytes(quantisation.type, {}, std::string(1, static_cast<char>(zero))).value());
    producers_.emplace_back();
    producers_[graph().node(pad).outputs[0].index()] = NodeId();
    Node& node = builder_.node(pad);
    node.inputs.resize(std::max<size_t>(node.inputs.size(), 3));
    node.formal_inputs = static_cast<uint32_t>(node.inputs.size());
    node.inputs[0] = read;
    node.inputs[2] = fill;
    node.outputs[0] = integers;
    producers_[integers.index()] = pad;
    MergeSources(builder_, pad, id);
    builder_.RemoveNode(id);
    changed_ = true;
  }

  // Quantises what the mover reads; the mover then makes what the QuantizeLinear made.
  void MoveBefore(NodeId id, NodeId mover) {
    const ValueId integers = graph().node(id).outputs[0];
    const size_t count = IsOp(graph().node(mover), "Concat") ? graph().node(mover).inputs.size() : 1;
    for (size_t i = 0; i < count; ++i) {
      const ValueId real = graph().node(mover).inputs[i];
      if (!real.valid() || !graph().value(real).type.is_static()) return;
    }
    for (size_t i = 0; i < count; ++i) {
      const ValueId real = graph().node(mover).inputs[i];
      ValueType type = graph().value(real).type;
      type.type = graph().value(integers).type.type;
      Node before = graph().node(id);
      const ValueId quantised = AddValue(std::move(type));
      before.inputs[0] = real;
      before.outputs = {quantised};
      builder_.node(mover).inputs[i] = quantised;
      producers_[quantised.index()] = builder_.AddNode(std::move(before));
    }
    producers_[graph().node(mover).outputs[0].index()] = NodeId();
    builder_.node(mover).outputs[0] = integers;
    producers_[integers.index()] = mover;
    builder_.RemoveNode(id);
    changed_ = true;
  }

  ValueId AddValue(ValueType type) {
    const ValueId value = builder_.AddValue("", std::move(type));
    producers_.emplace_back();
    return value;
  }

  GraphBuilder builder_;
  std::vector<NodeId> producers_;
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> MoveQuantisation(const Graph& graph, const PassContext&) { return Mover(graph).Run(); }

}  // namespace pt
