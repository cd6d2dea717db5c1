// Elementwise operators and BatchNormalization behind a Concat of convolutions are computed before it, on each part:
//   op(Concat(a, b), c) -> Concat(op(a, c1), op(b, c2))
// There they become part of the convolutions, which write their places in the whole.
#include <algorithm>
#include <map>
#include <set>

#include "lib/transform/edit.h"
#include "lib/transform/normalisation_parts.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/normalizations.h"

namespace pt {
namespace {

using Dims = std::vector<int64_t>;

constexpr size_t kMostSunk = 16;  // an activation that is spelled out takes about six

std::optional<Dims> FloatDims(const Graph& graph, ValueId value) {
  const ValueType& type = graph.value(value).type;
  return type.type == DataType::kFloat32 ? type.static_dims() : std::nullopt;
}

// Nodes that nothing but the Concat feeds, in the order they are computed, and their one value that others read.
struct Behind {
  std::vector<NodeId> nodes;
  ValueId result;
};

class ConcatSinking {
 public:
  explicit ConcatSinking(const Graph& graph) : graph_(graph), builder_(graph) {}

  Result<std::optional<Graph>> Run() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) Visit(NodeId(i));
    return BuildIfChanged(builder_, changed_);
  }

 private:
  void Visit(NodeId concat) {
    if (!IsOfConvolutions(concat)) return;
    const Behind behind = NodesBehind(graph_.node(concat).outputs[0]);
    if (!behind.nodes.empty()) Sink(concat, behind);
  }

  // Along the channels, of what nothing else reads.
  bool IsOfConvolutions(NodeId id) const {
    const Node& node = graph_.node(id);
    if (!IsOp(node, "Concat") || node.inputs.size() < 2) return false;
    const auto dims = FloatDims(graph_, node.outputs[0]);
    if (!dims || dims->size() < 3) return false;
    const Result<size_t> axis = ReadAxis(node, graph_.opset(), dims->size());
    if (!axis.ok() || *axis != 1) return false;
    return std::ranges::all_of(node.inputs, [&](ValueId part) {
      const NodeId maker = graph_.value(part).producer;
      return maker.valid() && (IsOp(graph_.node(maker), "Conv") || IsOp(graph_.node(maker), "ConvTranspose")) &&
             OnlyReader(graph_, part) == id && FloatDims(graph_, part).has_value();
    });
  }

  Behind NodesBehind(ValueId whole) const {
    const Dims dims = *FloatDims(graph_, whole);
    Behind longest, now;
    std::set<ValueId> values{whole};
    std::set<NodeId> waiting = ReadersOf(whole);  // nodes come in topological order
    while (!waiting.empty() && now.nodes.size() < kMostSunk) {
      const NodeId id = waiting.extract(waiting.begin()).value();
      const Node& node = graph_.node(id);
      if (node.outputs.size() != 1 || FloatDims(graph_, node.outputs[0]) != dims || !GoesByPart(node, values, dims)) {
        continue;
      }
      now.nodes.push_back(id);
      values.insert(node.outputs[0]);
      waiting.merge(ReadersOf(node.outputs[0]));
      now.result = OnlyResult(values, now.nodes);
      if (now.result.valid()) longest = now;
    }
    return longest;
  }

  std::set<NodeId> ReadersOf(ValueId value) const {
    std::set<NodeId> readers;
    for (const Use& use : graph_.value(value).uses) readers.insert(use.node);
    return readers;
  }

  // The one that is read by other nodes, or from outside; invalid where there are several.
  ValueId OnlyResult(const std::set<ValueId>& values, const std::vector<NodeId>& nodes) const {
    ValueId result;
    for (const ValueId id : values) {
      const Value& value = graph_.value(id);
      const bool open = value.is_graph_output || std::ranges::any_of(value.uses, [&](const Use& use) {
                          return std::ranges::find(nodes, use.node) == nodes.end();
                        });
      if (!open) continue;
      if (result.valid()) return ValueId();
      result = id;
    }
    return result;
  }

  bool GoesByPart(const Node& node, const std::set<ValueId>& values, const Dims& dims) const {
    const auto channels = static_cast<size_t>(dims[1]);
    if (!values.contains(node.inputs[0]) && !IsBinaryElementwise(node)) return false;
    if (IsUnaryElementwise(node)) return true;
    const bool normalisation = IsOp(node, "BatchNormalization");
    if (!normalisation && !IsBinaryElementwise(node) && !IsOp(node, "Clip")) return false;
    if (normalisation && ReadBatchNormalization(node).training) return false;
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      if (!input.valid()) return !normalisation;  // a bound that Clip does not have
      if (values.contains(input)) return !normalisation || input == node.inputs[0];
      const auto& constant = graph_.value(input).constant;
      if (!constant || constant->type() != DataType::kFloat32) return false;
      return normalisation ? constant->dims() == Dims{dims[1]} : IsByChannel(*constant, dims.size(), channels);
    });
  }

  void Sink(NodeId concat, const Behind& behind) {
    const ValueId whole = graph_.node(concat).outputs[0];
    std::map<ValueId, std::vector<ValueId>> parts{{whole, graph_.node(concat).inputs}};
    for (const NodeId id : behind.nodes) {
      parts.emplace(graph_.node(id).outputs[0], PartsOf(id, parts, parts.at(whole)));
      builder_.RemoveNode(id);
    }
    Node sunk = graph_.node(concat);
    sunk.inputs = parts.at(behind.result);
    sunk.outputs = {behind.result};
    builder_.RemoveNode(concat);
    builder_.AddNode(std::move(sunk));
    changed_ = true;
  }

  // The node once for each part; `like`: values with the parts' dims.
  std::vector<ValueId> PartsOf(NodeId id, const std::map<ValueId, std::vector<ValueId>>& parts,
                               const std::vector<ValueId>& like) {
    const Node& whole = graph_.node(id);
    std::vector<ValueId> results;
    int64_t from = 0;
    for (size_t k = 0; k < like.size(); ++k) {
      const Dims dims = *FloatDims(graph_, like[k]);
      Node part = whole;
      for (ValueId& input : part.inputs) {
        if (!input.valid()) continue;
        const auto at = parts.find(input);
        input = at != parts.end() ? at->second[k] : PartOfConstant(input, dims.size(), from, dims[1]);
      }
      results.push_back(builder_.AddValue("", StaticType(DataType::kFloat32, dims)));
      part.outputs = {results.back()};
      builder_.AddNode(std::move(part));
      from += dims[1];
    }
    return results;
  }

  // Of one number a channel, those from `from` on; what is one number for all of them stays.
  ValueId PartOfConstant(ValueId value, size_t rank, int64_t from, int64_t length) {
    const Tensor& constant = *graph_.value(value).constant;
    if (constant.element_count() == 1) return value;
    const size_t channels_at = constant.dims().size() == 1 ? 0 : constant.dims().size() + 1 - rank;
    return builder_.AddConstant("", SliceOf(constant, channels_at, from, length));
  }

  const Graph& graph_;
  GraphBuilder builder_;
  bool changed_ = false;
};

}  // namespace

Result<std::optional<Graph>> SinkConcats(const Graph& graph, const PassContext&) { return ConcatSinking(graph).Run(); }

}  // namespace pt
