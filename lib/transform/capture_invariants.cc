// What a Loop or Scan carries and no trip changes: the body reads it from outside. TensorFlow hands a loop's weights on
// like that; only what is captured can be a constant inside.
#include <algorithm>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/repetition.h"

namespace pt {
namespace {

// Where a node's carried values begin among its formal inputs, and their results among the outputs of its body.
struct Carried {
  size_t first_input = 0, first_result = 0, count = 0;
};

std::optional<Carried> CarriedBy(const Graph& graph, const Node& node) {
  if (node.subgraphs.size() != 1) return std::nullopt;
  Carried carried;
  if (IsOp(node, "Loop") && node.formal_inputs >= 2) {
    carried = {2, 1, node.formal_inputs - 2};
  } else if (IsOp(node, "Scan") && graph.opset() >= 9) {
    const Result<ScanNode> scan = ReadScan(node);
    if (!scan.ok()) return std::nullopt;
    carried.count = scan->carried;
  } else {
    return std::nullopt;
  }
  const Graph& body = *node.subgraphs[0].graph;
  if (body.inputs().size() != node.formal_inputs || node.outputs.size() < carried.count) return std::nullopt;
  if (body.outputs().size() != carried.first_result + node.outputs.size()) return std::nullopt;
  return carried;
}

// Of tensors alone: an Identity of lists is not known to every opset.
bool IsInvariant(const Graph& graph, const Node& node, const Carried& carried, size_t i) {
  const Graph& body = *node.subgraphs[0].graph;
  const ValueId inside = body.inputs()[carried.first_input + i];
  const ValueId outside = node.inputs[carried.first_input + i];
  if (body.outputs()[carried.first_result + i] != inside || !outside.valid()) return false;
  const ValueType &given = graph.value(outside).type, &read = body.value(inside).type;
  return given.other.empty() && read.other.empty() && given.type != DataType::kUndefined && given.type == read.type;
}

// The places of captured values move with the formal input that is taken out before them.
void TakeOutInput(Node& node, size_t place) {
  node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(place));
  --node.formal_inputs;
  for (uint32_t& capture : node.subgraphs[0].captures) capture -= capture > place ? 1 : 0;
}

Status Capture(GraphBuilder& builder, NodeId id, const Carried& carried, const std::vector<size_t>& invariants) {
  Node node = builder.graph().node(id);
  GraphBuilder body(*node.subgraphs[0].graph);
  for (size_t k = invariants.size(); k-- > 0;) {  // from the last one on, so that places before it stay
    const size_t i = invariants[k];
    const ValueId inside = body.graph().inputs()[carried.first_input + i];
    const ValueId outside = node.inputs[carried.first_input + i];
    body.DropOutput(carried.first_result + i);
    body.CaptureInput(inside);
    TakeOutInput(node, carried.first_input + i);
    node.subgraphs[0].captures.push_back(static_cast<uint32_t>(node.inputs.size()));
    node.inputs.push_back(outside);
    const ValueId result = node.outputs[i];
    node.outputs.erase(node.outputs.begin() + static_cast<std::ptrdiff_t>(i));
    if (!result.valid()) continue;
    Node identity;
    identity.op = "Identity";
    identity.inputs = {outside};
    identity.outputs = {result};
    identity.source = node.source;
    builder.AddNode(std::move(identity));
  }
  PT_ASSIGN(Graph built, body.Build());
  node.subgraphs[0].graph = std::make_shared<const Graph>(std::move(built));
  builder.node(id) = std::move(node);
  return {};
}

}  // namespace

Result<std::optional<Graph>> CaptureInvariants(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const std::optional<Carried> carried = CarriedBy(graph, node);
    if (!carried) continue;
    std::vector<size_t> invariants;
    for (size_t i = 0; i < carried->count; ++i) {
      if (IsInvariant(graph, node, *carried, i)) invariants.push_back(i);
    }
    if (invariants.empty()) continue;
    PT_CHECK_OK(Capture(builder, NodeId(n), *carried, invariants));
    changed = true;
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
