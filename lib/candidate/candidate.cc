#include "partitiontuner/candidate/candidate.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/candidate/work_size.h"
#include "partitiontuner/candidate/bytes_read.h"
#include "partitiontuner/candidate/run_time_sizes.h"

namespace pt {
namespace {

bool Contains(std::span<const NodeId> nodes, NodeId id) { return std::binary_search(nodes.begin(), nodes.end(), id); }

bool NeededOutside(const Graph& graph, std::span<const NodeId> nodes, ValueId id) {
  const Value& value = graph.value(id);
  return value.is_graph_output ||
         std::any_of(value.uses.begin(), value.uses.end(), [&](const Use& use) { return !Contains(nodes, use.node); });
}

}  // namespace

std::string_view MathModeName(MathMode mode) {
  switch (mode) {
    case MathMode::kFp32:
      return "fp32";
    case MathMode::kTf32:
      return "tf32";
    case MathMode::kBf16:
      return "bf16";
    case MathMode::kFp16:
      return "fp16";
    case MathMode::kInt8:
      return "int8";
  }
  return "?";
}

Form RowMajorForm(const ValueType& type) { return {RowMajor(type.dims.size()), type.type}; }

Candidate RowMajorCandidate(const Graph& graph, std::span<const NodeId> nodes, std::string_view library) {
  Candidate candidate;
  candidate.nodes.assign(nodes.begin(), nodes.end());
  candidate.library = library;
  for (const ValueId id : GroupInputs(graph, nodes)) candidate.in.push_back(RowMajorForm(graph.value(id).type));
  for (const ValueId id : GroupOutputs(graph, nodes)) candidate.out.push_back(RowMajorForm(graph.value(id).type));
  return candidate;
}

bool IsSameKernel(const Candidate& a, const Candidate& b) {
  return a.nodes == b.nodes && a.unit_class == b.unit_class && a.library == b.library && a.variant == b.variant &&
         a.math == b.math && a.in == b.in && a.out == b.out;
}

std::optional<MathMode> MathModeFromName(std::string_view name) {
  const auto found =
      std::find_if(kMathModes.begin(), kMathModes.end(), [&](MathMode mode) { return MathModeName(mode) == name; });
  return found == kMathModes.end() ? std::nullopt : std::optional(*found);
}

std::vector<ValueId> GroupInputs(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<ValueId> inputs;
  std::set<ValueId> seen;
  for (NodeId id : nodes) {
    for (ValueId input : graph.node(id).inputs) {
      if (!input.valid() || graph.value(input).is_constant()) continue;
      const NodeId producer = graph.value(input).producer;
      if (producer.valid() && Contains(nodes, producer)) continue;
      if (seen.insert(input).second) inputs.push_back(input);
    }
  }
  return inputs;
}

std::vector<ValueId> GroupOutputs(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<ValueId> outputs;
  for (NodeId id : nodes) {
    for (ValueId output : graph.node(id).outputs) {
      if (output.valid() && NeededOutside(graph, nodes, output)) outputs.push_back(output);
    }
  }
  return outputs;
}

bool IsConvex(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.size() < 2) return true;
  // Nodes stand in topological order, so a way back stays between the first and the last of the group.
  const uint32_t first = nodes.front().value;
  const uint32_t last = nodes.back().value;
  std::vector<bool> left(last - first + 1, false);  // reached through a node outside
  for (uint32_t n = first; n <= last; ++n) {
    const NodeId id(n);
    const bool inside = Contains(nodes, id);
    for (ValueId input : graph.node(id).inputs) {
      if (!input.valid()) continue;
      const NodeId producer = graph.value(input).producer;
      if (!producer.valid() || producer.value < first) continue;
      const bool came_from_outside = left[producer.value - first];
      if (inside && came_from_outside) return false;
      if (!inside && (came_from_outside || Contains(nodes, producer))) left[n - first] = true;
    }
  }
  return true;
}

namespace {

// Of the heaviest nested graph, run once: how often a loop goes round is not known until run time.
WorkSize NestedWork(const Node& node) {
  WorkSize most;
  for (const Subgraph& subgraph : node.subgraphs) {
    WorkSize all;
    for (size_t n = 0; n < subgraph.graph->nodes().size(); ++n) {
      const NodeId id(n);
      const WorkSize one = WorkSizeOf(*subgraph.graph, {&id, 1});
      all.flops += one.flops;
      all.bytes += one.bytes;
    }
    if (all.flops > most.flops || (all.flops == most.flops && all.bytes > most.bytes)) most = all;
  }
  return most;
}

double AssumedBytes(const Value& value) { return AssumedElements(value.type) * BitsOf(value.type.type) / 8.0; }

// Of a table that rows are looked up in, no more than comes out.
double AssumedBytesRead(const Graph& graph, NodeId id, size_t input) {
  const Node& node = graph.node(id);
  if (IsSizedBeforeRun(graph, {&id, 1})) return BytesRead(graph, id, input);
  const double whole = AssumedBytes(graph.value(node.inputs[input]));
  if (!node.op.starts_with("Gather") || node.outputs.empty() || !node.outputs[0].valid()) return whole;
  return std::min(whole, AssumedBytes(graph.value(node.outputs[0])));
}

}  // namespace

WorkSize WorkSizeOf(const Graph& graph, std::span<const NodeId> nodes) {
  WorkSize size;
  std::map<ValueId, double> read;  // by each value from outside, what the node that reads most of it reads
  for (NodeId id : nodes) {
    const Node& node = graph.node(id);
    const WorkSize nested = NestedWork(node);
    size.flops += FlopsOf(graph, id) + nested.flops;
    size.bytes += nested.bytes;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const NodeId producer = graph.value(node.inputs[i]).producer;
      if (producer.valid() && Contains(nodes, producer)) continue;
      double& bytes = read[node.inputs[i]];
      bytes = std::max(bytes, AssumedBytesRead(graph, id, i));
    }
  }
  for (const auto& [value, bytes] : read) size.bytes += bytes;
  for (ValueId id : GroupOutputs(graph, nodes)) size.bytes += AssumedBytes(graph.value(id));
  return size;
}

NodeId HeaviestNode(const Graph& graph, std::span<const NodeId> nodes) {
  NodeId heaviest;
  WorkSize most;
  for (NodeId id : nodes) {
    const WorkSize size = WorkSizeOf(graph, {&id, 1});
    if (!heaviest.valid() || size.flops > most.flops || (size.flops == most.flops && size.bytes > most.bytes)) {
      heaviest = id;
      most = size;
    }
  }
  return heaviest;
}

}  // namespace pt
