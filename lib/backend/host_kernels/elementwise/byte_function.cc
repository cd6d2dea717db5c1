#include "lib/backend/host_kernels/elementwise/byte_function.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "lib/backend/host_kernels/elementwise/expression.h"
#include "lib/backend/host_kernels/kernels/byte_lookup.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/linear_quantisation.h"

namespace pt::host {
namespace {

constexpr size_t kMostNodes = 24;
constexpr double kLookupWork = 0.03;  // nanoseconds of one element

struct Lookup {
  ByteTable table;
  ByteLookup look_up;
};

void LookUpTile(const TileCall& call) {
  const auto& lookup = *static_cast<const Lookup*>(call.data);
  lookup.look_up(lookup.table, static_cast<const uint8_t*>(call.in[0]), static_cast<uint8_t*>(call.out), call.n);
}

bool IsElementwise(const Node& node) { return node.outputs.size() == 1 && IsElementwiseOperator(node); }

bool IsConstantNumber(const Value& value) { return value.constant && value.constant->element_count() == 1; }

bool IsByteTensor(const Value& value) { return IsByte(value.type.type) && value.type.is_static() && !value.constant; }

// Whether all that the node reads is constant, or one of those values; and what it makes has dims like `x`.
bool Depends(const Graph& graph, NodeId id, ValueId x, const std::set<ValueId>& values) {
  const Node& node = graph.node(id);
  if (!IsElementwise(node) || graph.value(node.outputs[0]).type.dims != graph.value(x).type.dims) return false;
  return std::ranges::all_of(node.inputs, [&](ValueId input) {
    return !input.valid() || values.contains(input) || IsConstantNumber(graph.value(input));
  });
}

// The nodes between x and one of the values made of it, ascending.
std::vector<NodeId> NodesBetween(const Graph& graph, ValueId x, ValueId made) {
  std::set<NodeId> nodes;
  std::vector<ValueId> open{made};
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (!value.valid() || value == x || graph.value(value).constant) continue;
    const NodeId producer = graph.value(value).producer;
    if (!nodes.insert(producer).second) continue;
    for (ValueId input : graph.node(producer).inputs) open.push_back(input);
  }
  return {nodes.begin(), nodes.end()};
}

void FindFrom(const Graph& graph, ValueId x, std::vector<std::vector<NodeId>>& groups) {
  std::set<ValueId> values{x};
  std::set<NodeId> readers, seen;
  const auto push_readers = [&](ValueId value) {
    for (const Use& use : graph.value(value).uses) {
      if (seen.insert(use.node).second) readers.insert(use.node);
    }
  };
  push_readers(x);
  // In the order of the graph, so that what a node reads has been met before it.
  while (!readers.empty() && values.size() <= kMostNodes) {
    const NodeId node = *readers.begin();
    readers.erase(readers.begin());
    if (!Depends(graph, node, x, values)) continue;
    const ValueId made = graph.node(node).outputs[0];
    values.insert(made);
    push_readers(made);
    if (!IsByteTensor(graph.value(made))) continue;
    std::vector<NodeId> nodes = NodesBetween(graph, x, made);
    if (ReadByteFunction(graph, nodes)) groups.push_back(std::move(nodes));
  }
}

bool IsWithin(const std::vector<NodeId>& nodes, const std::vector<NodeId>& others) {
  return nodes.size() < others.size() && std::ranges::includes(others, nodes);
}

Result<Tensor> AsNumber(const Tensor& constant) {
  return Tensor::FromBytes(
      constant.type(), {},
      std::string(reinterpret_cast<const char*>(constant.bytes().data()), constant.bytes().size()));
}

// What the nodes make of every byte.
Result<ByteTable> Tabulate(const HostSite& site, const ByteFunction& function) {
  const Graph& graph = site.graph;
  ByteTable table;
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i);
  std::map<ValueId, Tensor> values;
  values[function.x] = Tensor::Of<uint8_t>(graph.value(function.x).type.type, {256}, table);
  for (NodeId id : site.nodes) {
    const Node& node = graph.node(id);
    std::vector<Tensor> inputs;
    for (ValueId input : node.inputs) {
      const auto made = values.find(input);
      if (made != values.end()) {
        inputs.push_back(made->second);
      } else if (input.valid()) {
        PT_ASSIGN(Tensor number, AsNumber(*graph.value(input).constant));
        inputs.push_back(std::move(number));
      } else {
        inputs.emplace_back();
      }
    }
    PT_ASSIGN(std::vector<Tensor> results, EvaluateNode(graph, id, inputs));
    values[node.outputs[0]] = std::move(results[0]);
  }
  const Tensor& y = values[function.y];
  if (y.type() != graph.value(function.y).type.type || y.bytes().size() != table.size())
    return site.Unsupported("its result is not an integer for each byte");
  std::ranges::transform(y.bytes(), table.begin(), [](std::byte byte) { return static_cast<uint8_t>(byte); });
  return table;
}

}  // namespace

std::optional<ByteFunction> ReadByteFunction(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.empty() || nodes.size() > kMostNodes) return std::nullopt;
  if (!std::ranges::all_of(nodes, [&](NodeId id) { return IsElementwise(graph.node(id)); })) return std::nullopt;
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  if (read.size() != 1 || made.size() != 1) return std::nullopt;
  if (!IsByteTensor(graph.value(read[0])) || !IsByteTensor(graph.value(made[0]))) return std::nullopt;
  std::set<ValueId> values{read[0]};
  for (NodeId id : nodes) {
    if (!Depends(graph, id, read[0], values)) return std::nullopt;
    values.insert(graph.node(id).outputs[0]);
  }
  return ByteFunction{read[0], made[0]};
}

std::vector<std::vector<NodeId>> ByteFunctionGroups(const Graph& graph) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t v = 0; v < graph.values().size(); ++v) {
    if (IsByteTensor(graph.value(ValueId(v)))) FindFrom(graph, ValueId(v), groups);
  }
  std::map<NodeId, std::vector<size_t>> groups_of;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (NodeId node : groups[g]) groups_of[node].push_back(g);
  }
  std::vector<std::vector<NodeId>> largest;
  std::ranges::copy_if(groups, std::back_inserter(largest), [&](const auto& nodes) {
    return std::ranges::none_of(groups_of[nodes.front()], [&](size_t g) { return IsWithin(nodes, groups[g]); });
  });
  return largest;
}

Result<HostRoutine> MakeByteFunction(const HostSite& site, const ByteFunction& function) {
  if (site.dequantised) return site.Unsupported("nothing of it becomes real numbers");
  PT_ASSIGN(const ByteTable table, Tabulate(site, function));
  const auto x = std::ranges::find(site.in, function.x, &HostOperand::value);
  const HostSite tensors{site.graph, site.nodes, {*x}, site.out, site.width};
  Operation lookup;
  lookup.function = LookUpTile;
  lookup.inputs = 1;
  lookup.out = 1;
  lookup.data = std::make_shared<const Lookup>(Lookup{table, FindByteLookup()});
  lookup.work = kLookupWork;
  PT_ASSIGN(HostRoutine routine, MakeElementwise(tensors, {{x->type(), site.out[0].type()}, {lookup}, {1}}));
  const auto place = static_cast<uint32_t>(x - site.in.begin());
  for (uint32_t& input : routine.in_place) input = place;
  routine.run = [run = std::move(routine.run), place](const HostCall& call) {
    return run({call.in.subspan(place, 1), call.out, call.scratch, call.team});
  };
  return routine;
}

}  // namespace pt::host
