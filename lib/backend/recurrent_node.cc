#include "partitiontuner/backend/recurrent_node.h"

#include <algorithm>
#include <vector>

#include "partitiontuner/graph/operators/recurrence.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

Error NotUsual(std::string why) { return MakeError(ErrorCode::kUnsupported, "recurrent.unusual", std::move(why)); }

ValueId At(const std::vector<ValueId>& ids, size_t i) { return i < ids.size() ? ids[i] : ValueId(); }

ValueId NeededOutput(const Graph& graph, const Node& node, size_t i) {
  const ValueId id = At(node.outputs, i);
  if (!id.valid()) return id;
  const Value& value = graph.value(id);
  return value.uses.empty() && !value.is_graph_output ? ValueId() : id;
}

// An absent operand passes.
Status CheckFloats(const Graph& graph, ValueId id, const char* name, const Dims& dims) {
  if (!id.valid()) return {};
  const ValueType& type = graph.value(id).type;
  if (type.type == DataType::kFloat32 && type.static_dims() == dims) return {};
  return NotUsual(std::string(name) + " is " + ToString(type) + ", not " +
                  ToString(StaticType(DataType::kFloat32, dims)));
}

Result<std::optional<Tensor>> ConstantFloats(const Graph& graph, ValueId id, const char* name, const Dims& dims) {
  PT_CHECK_OK(CheckFloats(graph, id, name, dims));
  if (!id.valid()) return std::optional<Tensor>();
  if (!graph.value(id).is_constant()) return NotUsual(std::string(name) + " is not constant");
  return graph.value(id).constant;
}

// The numbers that the shapes hold; every other operand is then checked against them.
Status ReadSizes(const Graph& graph, const Node& node, RecurrentNode& n) {
  if (!At(node.inputs, 2).valid()) return NotUsual("it has fewer than three inputs");
  n.x = node.inputs[0];
  if (!n.x.valid() || !node.inputs[1].valid()) return NotUsual("X or W is missing");
  const std::optional<Dims> x = graph.value(n.x).type.static_dims(), r = graph.value(node.inputs[2]).type.static_dims();
  if (!x || !r || x->size() != 3 || r->size() != 3) return NotUsual("X or R is not a tensor of three known dims");
  n.time = (*x)[n.batch_first ? 1 : 0];
  n.batch = (*x)[n.batch_first ? 0 : 1];
  n.input = (*x)[2];
  const Result<RecurrenceNode> said = ReadRecurrence(node);
  if (!said.ok()) return NotUsual(said.error().message);
  n.hidden = said->hidden.value_or((*r)[2]);
  const Dims sizes{n.time, n.batch, n.input, n.hidden, n.gates, n.directions};
  const std::optional<int64_t> product = CheckedProduct(sizes);
  if (!product || *product == 0) return NotUsual("a dim is zero or too large");
  if (graph.value(n.x).is_constant()) return NotUsual("X is constant");
  return CheckFloats(graph, n.x, "X", *x);
}

// Sequences of full length are as good as none given.
Status ReadLengths(const Graph& graph, ValueId id, RecurrentNode& n) {
  if (!id.valid()) return {};
  const ValueType& type = graph.value(id).type;
  if (type.type != DataType::kInt32 || type.static_dims() != Dims{n.batch})
    return NotUsual("sequence_lens is not one int32 an entry of the batch");
  const std::optional<Tensor>& lengths = graph.value(id).constant;
  const auto is_full = [&](int64_t length) { return length == n.time; };
  if (!lengths || !std::ranges::all_of(lengths->ToInts(), is_full)) n.lengths = id;
  return {};
}

Status ReadAttributes(const Node& node, RecurrentNode& n) {
  n.gates = n.cell == RecurrentCell::kLstm ? 4 : n.cell == RecurrentCell::kGru ? 3 : 1;
  const Result<RecurrenceNode> said = ReadRecurrence(node);
  if (!said.ok()) return NotUsual(said.error().message);
  n.batch_first = said->batch_first;
  n.linear_before_reset = said->linear_before_reset;
  n.directions = said->directions();
  n.reverse = said->direction == RecurrenceDirection::kReverse;
  n.clip = said->clip > 0 ? said->clip : 0;
  n.input_forget = n.cell == RecurrentCell::kLstm && said->input_forget;
  Result<std::vector<RecurrentActivation>> activations = ActivationsOf(*said, n.cell);
  if (!activations.ok()) return NotUsual(activations.error().message);
  n.activations = *std::move(activations);
  return {};
}

Status ReadOperands(const Graph& graph, const Node& node, RecurrentNode& n) {
  const int64_t rows = n.gates * n.hidden;
  PT_ASSIGN(std::optional<Tensor> w, ConstantFloats(graph, node.inputs[1], "W", {n.directions, rows, n.input}));
  PT_ASSIGN(std::optional<Tensor> r, ConstantFloats(graph, node.inputs[2], "R", {n.directions, rows, n.hidden}));
  n.w = std::move(*w);
  n.r = std::move(*r);
  PT_ASSIGN(n.bias, ConstantFloats(graph, At(node.inputs, 3), "B", {n.directions, 2 * rows}));
  PT_CHECK_OK(ReadLengths(graph, At(node.inputs, 4), n));
  const Dims state = n.batch_first ? Dims{n.batch, n.directions, n.hidden} : Dims{n.directions, n.batch, n.hidden};
  n.initial_h = At(node.inputs, 5);
  PT_CHECK_OK(CheckFloats(graph, n.initial_h, "initial_h", state));
  if (n.cell == RecurrentCell::kLstm) {
    n.initial_c = At(node.inputs, 6);
    PT_CHECK_OK(CheckFloats(graph, n.initial_c, "initial_c", state));
    PT_ASSIGN(n.peephole, ConstantFloats(graph, At(node.inputs, 7), "P", {n.directions, 3 * n.hidden}));
  }
  n.y = NeededOutput(graph, node, 0);
  n.y_h = NeededOutput(graph, node, 1);
  if (n.cell == RecurrentCell::kLstm) n.y_c = NeededOutput(graph, node, 2);
  if (!n.y.valid() && !n.y_h.valid() && !n.y_c.valid()) return NotUsual("nobody needs what it makes");
  const Dims y =
      n.batch_first ? Dims{n.batch, n.time, n.directions, n.hidden} : Dims{n.time, n.directions, n.batch, n.hidden};
  PT_CHECK_OK(CheckFloats(graph, n.y, "Y", y));
  PT_CHECK_OK(CheckFloats(graph, n.y_h, "Y_h", state));
  return CheckFloats(graph, n.y_c, "Y_c", state);
}

}  // namespace

Result<RecurrentNode> ReadRecurrentNode(const Graph& graph, const Node& node) {
  RecurrentNode n;
  if (!node.domain.empty() || (node.op != "LSTM" && node.op != "GRU" && node.op != "RNN")) {
    return NotUsual("it is no LSTM, GRU or RNN");
  }
  n.cell = node.op == "LSTM" ? RecurrentCell::kLstm : node.op == "GRU" ? RecurrentCell::kGru : RecurrentCell::kRnn;
  PT_CHECK_OK(ReadAttributes(node, n));
  PT_CHECK_OK(ReadSizes(graph, node, n));
  PT_CHECK_OK(ReadOperands(graph, node, n));
  return n;
}

Status NeedUsual(const RecurrentNode& node) {
  if (node.lengths.valid()) return NotUsual("sequence_lens may hold other lengths than the full one");
  if (node.clip > 0) return NotUsual("it clips");
  if (node.input_forget) return NotUsual("it couples the input and forget gates");
  const auto is_relu = [](const RecurrentActivation& a) { return a.function == RecurrentFunction::kRelu; };
  if (node.cell == RecurrentCell::kRnn && std::ranges::all_of(node.activations, is_relu)) return {};
  const std::vector<RecurrentActivation> usual = UsualActivations(node.cell);
  for (size_t i = 0; i < node.activations.size(); ++i) {
    if (node.activations[i] != usual[i % usual.size()]) return NotUsual("its activations are not the usual ones");
  }
  return {};
}

std::vector<float> SummedBias(const RecurrentNode& node) {
  const auto rows = static_cast<size_t>(node.gates * node.hidden), directions = static_cast<size_t>(node.directions);
  std::vector<float> sum(directions * rows, 0.0F);
  if (!node.bias) return sum;
  const std::span<const float> bias = node.bias->values<float>();
  for (size_t d = 0; d < directions; ++d) {
    for (size_t i = 0; i < rows; ++i) sum[d * rows + i] = bias[d * 2 * rows + i] + bias[d * 2 * rows + rows + i];
  }
  return sum;
}

}  // namespace pt
