// Recurrent layers over time become several over consecutive steps each.
//
// What lies between two layers and treats all steps alike (Squeeze, Relu, a product with constant weights, ...) is cut
// along with them: Split(f(Concat(parts))) becomes f of each part.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "lib/transform/edit.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/movements.h"
#include "partitiontuner/graph/operators/recurrence.h"
#include "partitiontuner/transform/rewrites.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

// Inputs and outputs of LSTM, GRU and RNN.
enum RecurrentInput : size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };
enum RecurrentOutput : size_t { kY, kYh, kYc };

ValueId InputAt(const Node& node, size_t index) { return index < node.inputs.size() ? node.inputs[index] : ValueId(); }
ValueId OutputAt(const Node& node, size_t index) {
  return index < node.outputs.size() ? node.outputs[index] : ValueId();
}

bool CanSlice(const Graph& graph, const Node& node, uint32_t slices) {
  if (!IsOp(node, "LSTM") && !IsOp(node, "GRU") && !IsOp(node, "RNN")) return false;
  const Result<RecurrenceNode> said = ReadRecurrence(node);
  if (!said.ok() || said->directions() != 1 || said->batch_first) return false;
  if (InputAt(node, kLengths).valid()) return false;
  const std::optional<Dims> x = graph.value(InputAt(node, kX)).type.static_dims();
  if (!x || x->size() != 3 || (*x)[0] < static_cast<int64_t>(slices)) return false;
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId output) { return !output.valid() || graph.value(output).type.is_static(); });
}

ValueType WithSteps(ValueType type, int64_t steps) {
  type.dims[0] = {steps, ""};
  return type;
}

// The parts along the first axis that a Concat joins again.
using PartsOf = std::map<ValueId, std::vector<ValueId>>;

class Slicer {
 public:
  Slicer(const Graph& graph, uint32_t slices) : graph_(graph), builder_(graph), slices_(slices) {}

  Result<Graph> Run() {
    size_t layers = 0;
    for (uint32_t n = 0; n < graph_.nodes().size(); ++n) {  // in topological order: parts of inputs are known
      if (!CanSlice(graph_, graph_.node(NodeId(n)), slices_)) continue;
      SliceLayer(NodeId(n));
      ++layers;
    }
    if (layers == 0) {
      return MakeError(ErrorCode::kUsage, "rewrite.time_slices",
                       "no recurrent layer can be cut into " + std::to_string(slices_) + " slices of time",
                       "it takes an LSTM, GRU or RNN of one direction over at least as many steps, without "
                       "sequence_lens");
    }
    return builder_.Build(false);
  }

 private:
  ValueId Make(ValueType type) { return builder_.AddValue("", std::move(type)); }

  void SliceLayer(NodeId id) {
    const Node layer = graph_.node(id);
    const Dims lengths = EqualParts((*graph_.value(layer.inputs[kX]).type.static_dims())[0], slices_);
    const std::vector<ValueId> x = Parts(layer.inputs[kX], lengths);
    const bool reverse = ReadRecurrence(layer)->direction == RecurrenceDirection::kReverse;  // CanSlice read it
    std::vector<ValueId> y(slices_);
    ValueId h = InputAt(layer, kInitialH), c = InputAt(layer, kInitialC);
    for (uint32_t i = 0; i < slices_; ++i) {
      const size_t at = reverse ? slices_ - 1 - i : i;
      const bool last = i + 1 == slices_;
      Node part = layer;
      part.inputs.resize(std::max<size_t>(part.inputs.size(), IsOp(layer, "LSTM") ? kInitialC + 1 : kInitialH + 1));
      part.inputs[kX] = x[at];
      part.inputs[kInitialH] = h;
      part.outputs.assign(IsOp(layer, "LSTM") ? 3 : 2, ValueId());
      if (const ValueId whole = OutputAt(layer, kY); whole.valid()) {
        y[at] = part.outputs[kY] = Make(WithSteps(graph_.value(whole).type, lengths[at]));
      }
      h = part.outputs[kYh] = last && OutputAt(layer, kYh).valid() ? OutputAt(layer, kYh) : Make(StateType(layer));
      if (IsOp(layer, "LSTM")) {
        part.inputs[kInitialC] = c;
        c = part.outputs[kYc] = last && OutputAt(layer, kYc).valid() ? OutputAt(layer, kYc) : Make(StateType(layer));
      }
      part.formal_inputs = static_cast<uint32_t>(part.inputs.size());
      builder_.AddNode(std::move(part));
    }
    builder_.RemoveNode(id);
    if (OutputAt(layer, kY).valid()) Join(layer, std::move(y));
  }

  // [directions, batch, hidden]
  ValueType StateType(const Node& layer) const {
    const Dims x = *graph_.value(layer.inputs[kX]).type.static_dims();
    const Dims r = *graph_.value(layer.inputs[kR]).type.static_dims();
    return StaticType(graph_.value(layer.inputs[kX]).type.type, {1, x[1], r[2]});
  }

  void Join(const Node& layer, std::vector<ValueId> parts) {
    Node concat;
    concat.op = "Concat";
    concat.attributes["axis"] = int64_t{0};
    concat.inputs = parts;
    concat.outputs = {layer.outputs[kY]};
    concat.source = layer.source;
    builder_.AddNode(std::move(concat));
    parts_[layer.outputs[kY]] = std::move(parts);
  }

  // The value's parts along its first axis, of these lengths.
  std::vector<ValueId> Parts(ValueId value, const Dims& lengths) {
    if (const auto known = parts_.find(value); known != parts_.end() && HaveLengths(known->second, lengths)) {
      return known->second;
    }
    if (std::optional<std::vector<ValueId>> moved = PartsThroughMaker(value, lengths)) return *std::move(moved);
    Node split;
    split.op = "Split";
    split.attributes["axis"] = int64_t{0};
    split.inputs = {value, builder_.AddConstant("", Tensor::Int64({static_cast<int64_t>(lengths.size())}, lengths))};
    for (const int64_t length : lengths) split.outputs.push_back(Make(WithSteps(graph_.value(value).type, length)));
    std::vector<ValueId> parts = split.outputs;
    builder_.AddNode(std::move(split));
    parts_[value] = parts;
    return parts;
  }

  bool HaveLengths(const std::vector<ValueId>& parts, const Dims& lengths) const {
    if (parts.size() != lengths.size()) return false;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (builder_.graph().value(parts[i]).type.dims[0].value != lengths[i]) return false;
    }
    return true;
  }

  // Where the value's maker treats all steps alike and is fed, perhaps through others, by parts of these lengths.
  std::optional<std::vector<ValueId>> PartsThroughMaker(ValueId value, const Dims& lengths) {
    if (value.index() >= graph_.values().size()) return std::nullopt;
    const NodeId maker = graph_.value(value).producer;
    if (!maker.valid() || !TreatsStepsAlike(graph_.node(maker)) || !LeadsToParts(maker, lengths)) return std::nullopt;
    const Node whole = graph_.node(maker);
    const std::vector<ValueId> in = Parts(whole.inputs[0], lengths);
    std::vector<ValueId> parts;
    for (size_t i = 0; i < in.size(); ++i) {
      Node part = whole;
      part.inputs[0] = in[i];
      if (IsOp(whole, "Reshape")) {
        Dims dims = *graph_.value(value).type.static_dims();
        dims[0] = lengths[i];
        part.inputs[1] = builder_.AddConstant("", Tensor::Int64({static_cast<int64_t>(dims.size())}, dims));
        part.attributes["allowzero"] = int64_t{1};
      }
      parts.push_back(Make(WithSteps(graph_.value(value).type, lengths[i])));
      part.outputs = {parts.back()};
      builder_.AddNode(std::move(part));
    }
    parts_[value] = parts;
    return parts;
  }

  bool LeadsToParts(NodeId maker, const Dims& lengths) const {
    const ValueId in = graph_.node(maker).inputs[0];
    if (const auto known = parts_.find(in); known != parts_.end()) return HaveLengths(known->second, lengths);
    const NodeId before = graph_.value(in).producer;
    return before.valid() && TreatsStepsAlike(graph_.node(before)) && LeadsToParts(before, lengths);
  }

  // Along the first axis of its first input, which is that of its one result.
  bool TreatsStepsAlike(const Node& node) const;
  bool IsConstantOnSteps(ValueId value, size_t rank) const;

  const Graph& graph_;
  GraphBuilder builder_;
  const uint32_t slices_;
  PartsOf parts_;
};

// A constant that is the same for all steps of a value of that rank, when it is broadcast to it.
bool Slicer::IsConstantOnSteps(ValueId value, size_t rank) const {
  if (!value.valid() || !graph_.value(value).is_constant()) return false;
  const Dims& dims = graph_.value(value).constant->dims();
  return dims.size() < rank || (dims.size() == rank && dims[0] == 1);
}

bool Slicer::TreatsStepsAlike(const Node& node) const {
  constexpr std::array<std::string_view, 12> kElementwise = {
      "Relu", "LeakyRelu", "Elu", "Gelu", "Tanh", "Sigmoid", "HardSwish", "Softplus", "Clip", "Cast", "Abs", "Neg"};
  if (!node.domain.empty() || node.outputs.size() != 1 || !node.subgraphs.empty()) return false;
  if (node.inputs.empty() || !node.inputs[0].valid()) return false;
  const std::optional<Dims> in = graph_.value(node.inputs[0]).type.static_dims();
  const std::optional<Dims> out = graph_.value(node.outputs[0]).type.static_dims();
  if (!in || !out || in->empty() || out->empty() || (*in)[0] != (*out)[0]) return false;
  const auto rest_is_constant = [&] {
    return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                       [&](ValueId v) { return !v.valid() || graph_.value(v).is_constant(); });
  };
  if (!rest_is_constant()) return false;
  if (std::find(kElementwise.begin(), kElementwise.end(), node.op) != kElementwise.end()) return true;
  if (node.op == "Reshape") return true;  // row-major: each step's elements stay together, as there are as many steps
  if (node.op == "Squeeze" || node.op == "Unsqueeze") {
    // An axis of one step that went or came at the front would look the same.
    const std::vector<int64_t> axes =
        node.inputs.size() > 1 && node.inputs[1].valid() ? graph_.value(node.inputs[1]).constant->ToInts() : Dims{};
    const auto rank = static_cast<int64_t>(node.op == "Squeeze" ? in->size() : out->size());
    return !axes.empty() && std::none_of(axes.begin(), axes.end(), [&](int64_t a) { return a == 0 || a == -rank; });
  }
  if (node.op == "Transpose") {
    const Result<std::vector<size_t>> perm = ReadPermutation(node, in->size());
    return perm.ok() && !perm->empty() && perm->front() == 0;
  }
  if (node.op == "MatMul") return in->size() >= 2 && graph_.value(node.inputs[1]).constant->rank() == 2;
  if (node.op == "Add" || node.op == "Mul" || node.op == "Sub" || node.op == "Div") {
    return in == out && IsConstantOnSteps(node.inputs[1], in->size());
  }
  if (node.op == "LayerNormalization") {
    const Result<size_t> axis = ReadAxis(node, graph_.opset(), in->size());
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid() && !IsConstantOnSteps(node.inputs[i], in->size())) return false;
    }
    return axis.ok() && *axis != 0;
  }
  return false;
}

}  // namespace

Result<Graph> SliceTime(const Graph& graph, uint32_t slices) { return Slicer(graph, slices).Run(); }

}  // namespace pt
