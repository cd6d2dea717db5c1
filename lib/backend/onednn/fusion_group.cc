#include "lib/backend/onednn/fusion_group.h"

#include <algorithm>
#include <set>

#include "lib/backend/onednn/family.h"
#include "partitiontuner/candidate/run_time_sizes.h"

namespace pt::onednn {
namespace {

constexpr size_t kMostFusedNodes = 10;

bool Contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

void Insert(std::vector<NodeId>& nodes, NodeId node) {
  nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), node), node);
}

bool MadeInside(const Graph& graph, const FusionGroup& group, ValueId value) {
  return value.valid() && graph.value(value).producer.valid() && Contains(group.nodes, graph.value(value).producer);
}

std::optional<FusionGroup> ActivationGroup(const Graph& graph, ValueId main) {
  auto activation = FindActivation(graph, main, /*closed=*/false);
  if (!activation) return std::nullopt;
  return FusionGroup{std::move(activation->nodes), NodeId(), main, {std::move(activation->op)}, activation->result};
}

// The next larger group; nullopt where the result is needed elsewhere or nothing fitting follows.
// All values inside are used inside only, so a grown group is convex.
std::optional<FusionGroup> Grow(const Graph& graph, const FusionGroup& group) {
  const Value& result = graph.value(group.result);
  if (result.is_graph_output || result.uses.empty() || !MayGrow(graph, group)) return std::nullopt;
  if (auto activation = FindActivation(graph, group.result, /*closed=*/true)) {
    FusionGroup grown = group;
    for (NodeId node : activation->nodes) Insert(grown.nodes, node);
    Append(grown.ops, std::move(activation->op));
    grown.result = activation->result;
    return grown;
  }
  if (result.uses.size() != 1) return std::nullopt;
  const NodeId next = result.uses[0].node;
  auto ops = PointwiseOf(graph, graph.node(next), group.result);
  if (!ops) return std::nullopt;
  FusionGroup grown = group;
  for (Pointwise& op : *ops) {
    if (MadeInside(graph, group, op.operand.value)) return std::nullopt;
    Append(grown.ops, std::move(op));
  }
  Insert(grown.nodes, next);
  grown.result = graph.node(next).outputs[0];
  return grown;
}

// How many elementwise nodes stand before each in a row, each one's result read by the next alone.
std::vector<uint32_t> PlacesInChains(const Graph& graph) {
  std::vector<uint32_t> places(graph.nodes().size(), 0);
  for (size_t n = 0; n < places.size(); ++n) {
    const ValueId main = MainInput(graph, graph.nodes()[n]);
    if (!main.valid() || !graph.value(main).producer.valid() || graph.value(main).uses.size() != 1) continue;
    const NodeId producer = graph.value(main).producer;
    if (IsPointwiseOperator(graph.node(producer))) places[n] = places[producer.index()] + 1;
  }
  return places;
}

// A long chain of elementwise nodes would make kMostFusedNodes groups a node, nearly all of them each other's shifted
// copies. Beyond the first kMostFusedNodes places groups begin at every kMostFusedNodes-th only: as many cover the
// chain.
bool StartsGroups(uint32_t place) { return place < kMostFusedNodes || place % kMostFusedNodes == 0; }

void GrowAll(const Graph& graph, FusionGroup group, std::set<std::vector<NodeId>>& seen,
             std::vector<FusionGroup>& groups) {
  std::optional<FusionGroup> next = std::move(group);
  while (next && next->nodes.size() <= kMostFusedNodes && IsSizedBeforeRun(graph, next->nodes)) {
    if (seen.insert(next->nodes).second) groups.push_back(*next);
    next = Grow(graph, *next);
  }
}

Integers IntegersOf(const Graph& graph, const FusionGroup& group) {
  return FindFamily(graph.node(group.anchor))->integers;
}

// What the primitive itself reads of what may be integers: it takes all of them so or none.
std::vector<ValueId> MainOperands(const Graph& graph, const FusionGroup& group) {
  if (!group.anchor.valid()) return {group.main};
  const std::vector<ValueId>& inputs = graph.node(group.anchor).inputs;
  switch (IntegersOf(graph, group)) {
    case Integers::kOperands:
      return {inputs[0], inputs[1]};
    case Integers::kBothSides:
      return {inputs[0]};
    case Integers::kResult:
    case Integers::kNone:
      break;
  }
  return {};
}

// What the group may read as integers.
std::vector<Quantised> Readable(const Graph& graph, const FusionGroup& group) {
  std::vector<Quantised> reads;
  const auto add = [&](std::optional<Quantised> read) {
    const auto same = [&](const Quantised& other) { return read && other.node == read->node; };
    if (read && std::ranges::none_of(reads, same)) reads.push_back(std::move(*read));
  };
  const std::vector<ValueId> operands = MainOperands(graph, group);
  for (ValueId operand : operands) add(Dequantisation(graph, operand));
  if (!reads.empty() && reads.size() != operands.size()) reads.clear();
  for (const Pointwise& op : group.ops) {
    if (!op.operand.value.valid()) continue;
    auto read = Dequantisation(graph, op.operand.value);
    if (read && TakesIntegers(op, *read)) add(std::move(read));
  }
  return reads;
}

std::optional<FusionGroup> Conversion(const Graph& graph, NodeId id) {
  auto quantised = QuantisedBy(graph, id);
  if (!quantised) return std::nullopt;
  const bool from_integers = IsDequantisation(graph.node(id));
  if (graph.value(graph.node(id).inputs[0]).is_constant()) return std::nullopt;
  FusionGroup group{{id}, NodeId(), quantised->real, {}, from_integers ? quantised->real : quantised->integers};
  if (from_integers) {
    group.reads.push_back(std::move(*quantised));
  } else {
    group.writes = std::move(quantised);
  }
  return group;
}

void TakeReads(FusionGroup& group, std::vector<Quantised> reads) {
  for (const Quantised& read : reads) Insert(group.nodes, read.node);
  group.reads = std::move(reads);
}

void TakeWrites(FusionGroup& group, std::optional<Quantised> writes) {
  if (!writes) return;
  Insert(group.nodes, writes->node);
  group.result = writes->integers;
  group.writes = std::move(writes);
}

std::optional<FusionGroup> RealGroupOf(const Graph& graph, const std::vector<NodeId>& nodes) {
  auto grow_to = [&](std::optional<FusionGroup> group) -> std::optional<FusionGroup> {
    while (group && group->nodes.size() < nodes.size()) group = Grow(graph, *group);
    if (group && group->nodes == nodes && IsSizedBeforeRun(graph, nodes)) return group;
    return std::nullopt;
  };
  // Anything but the first operation is grown onto a start, and only the start may be an anchor. Activations go first,
  // as they do among natural groups: what is described must be what was offered.
  for (NodeId node : nodes) {
    for (ValueId input : graph.node(node).inputs) {
      if (!input.valid() || graph.value(input).is_constant()) continue;
      if (auto group = grow_to(ActivationGroup(graph, input))) return group;
    }
  }
  for (NodeId node : nodes) {
    if (auto group = grow_to(SingleGroup(graph, node))) return group;
  }
  return std::nullopt;
}

// {DequantizeLinear, QuantizeLinear}, or one of them.
std::optional<FusionGroup> ConversionOf(const Graph& graph, const std::vector<NodeId>& nodes) {
  auto group = Conversion(graph, nodes[0]);
  if (!group || nodes.size() == 1) return group;
  return WithIntegers(graph, *group);
}

}  // namespace

const Quantised* FusionGroup::read(ValueId real) const {
  const auto at = std::ranges::find(reads, real, &Quantised::real);
  return at == reads.end() ? nullptr : &*at;
}

ValueId FusionGroup::input_of(ValueId real) const {
  const Quantised* quantised = read(real);
  return quantised == nullptr ? real : quantised->integers;
}

std::optional<FusionGroup> WithIntegers(const Graph& graph, const FusionGroup& group) {
  FusionGroup whole = group;
  if (group.is_conversion()) {
    auto writes = Quantisation(graph, group.result);
    if (group.writes || !writes) return std::nullopt;
    TakeWrites(whole, std::move(writes));
    return whole;
  }
  std::vector<Quantised> reads = Readable(graph, group);
  std::optional<Quantised> writes = Quantisation(graph, group.result);
  if (group.anchor.valid()) {
    const std::vector<ValueId> operands = MainOperands(graph, group);
    const bool main = !operands.empty() && std::ranges::find(reads, operands[0], &Quantised::real) != reads.end();
    const Integers integers = IntegersOf(graph, group);
    if (integers == Integers::kNone || (integers == Integers::kOperands && !main) ||
        (integers == Integers::kBothSides && (!main || !writes))) {
      return std::nullopt;
    }
  }
  if (reads.empty() && !writes) return std::nullopt;
  TakeReads(whole, std::move(reads));
  TakeWrites(whole, std::move(writes));
  return whole;
}

std::optional<FusionGroup> WithRealWeights(const Graph& graph, const FusionGroup& group) {
  if (!group.anchor.valid() || IntegersOf(graph, group) != Integers::kOperands) return std::nullopt;
  if (auto packed = PackedMatrixOf(graph, graph.node(group.anchor))) {
    FusionGroup whole = group;
    Insert(whole.nodes, packed->node);
    whole.packed_weights = std::move(packed);
    return whole;
  }
  auto weights = Dequantisation(graph, graph.node(group.anchor).inputs[1]);
  if (!weights || !graph.value(weights->integers).is_constant()) return std::nullopt;
  FusionGroup whole = group;
  Insert(whole.nodes, weights->node);
  whole.real_weights = std::move(weights);
  return whole;
}

bool MayGrow(const Graph& graph, const FusionGroup& group) {
  if (!group.anchor.valid()) return !group.is_conversion();
  const Family* family = FindFamily(graph.node(group.anchor));
  return family != nullptr && family->post_ops;
}

std::optional<FusionGroup> SingleGroup(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (IsDequantisation(node) || IsQuantisation(node)) return Conversion(graph, id);
  if (const Family* family = FindFamily(node)) {
    if (family->why_not(graph, node)) return std::nullopt;
    return FusionGroup{{id}, id, ValueId(), {}, node.outputs[0]};
  }
  const ValueId main = MainInput(graph, node);
  if (!main.valid()) return std::nullopt;
  return FusionGroup{{id}, NodeId(), main, *PointwiseOf(graph, node, main), node.outputs[0]};
}

std::vector<FusionGroup> NaturalGroups(const Graph& graph) {
  std::vector<FusionGroup> groups;
  std::set<std::vector<NodeId>> seen;
  const std::vector<uint32_t> places = PlacesInChains(graph);
  for (ValueId input : graph.inputs()) {
    if (auto activation = ActivationGroup(graph, input)) GrowAll(graph, std::move(*activation), seen, groups);
  }
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (auto single = SingleGroup(graph, NodeId(i))) {
      if (single->is_conversion()) {
        auto other = WithIntegers(graph, *single);
        groups.push_back(std::move(*single));
        if (other) groups.push_back(std::move(*other));
      } else if (StartsGroups(places[i])) {
        GrowAll(graph, std::move(*single), seen, groups);
      } else if (seen.insert(single->nodes).second) {
        groups.push_back(std::move(*single));
      }
    }
    for (ValueId output : graph.node(NodeId(i)).outputs) {
      if (!output.valid()) continue;
      if (auto activation = ActivationGroup(graph, output)) GrowAll(graph, std::move(*activation), seen, groups);
    }
  }
  return groups;
}

std::optional<FusionGroup> GroupOf(const Graph& graph, std::span<const NodeId> wanted) {
  std::vector<NodeId> nodes(wanted.begin(), wanted.end());
  std::sort(nodes.begin(), nodes.end());
  if (nodes.empty() || std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end()) return std::nullopt;
  std::vector<NodeId> real;
  for (NodeId node : nodes) {
    if (!IsDequantisation(graph.node(node)) && !IsQuantisation(graph.node(node))) real.push_back(node);
  }
  auto group = real.empty() ? ConversionOf(graph, nodes) : RealGroupOf(graph, real);
  if (!group || group->nodes == nodes) return group;
  for (const auto& larger : {WithIntegers(graph, *group), WithRealWeights(graph, *group)}) {
    if (larger && larger->nodes == nodes) return larger;
  }
  return std::nullopt;
}

}  // namespace pt::onednn
