// Two nodes of one operator with equal attributes and the same inputs compute the same; one is enough.
#include <bit>
#include <map>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/chance.h"
#include "partitiontuner/graph/linear_quantisation.h"

namespace pt {
namespace {

std::string AttributeText(const Attribute& attribute) {
  struct Writer {
    std::string operator()(int64_t v) const { return "i" + std::to_string(v); }
    std::string operator()(float v) const { return "f" + Bits(v); }
    std::string operator()(const std::string& v) const { return "s" + std::to_string(v.size()) + ":" + v; }
    std::string operator()(const Tensor& v) const { return "t" + ToHex(v.content_hash()); }
    std::string operator()(const std::vector<int64_t>& v) const {
      std::string text = "I";
      for (int64_t x : v) text += std::to_string(x) + ",";
      return text;
    }
    std::string operator()(const std::vector<float>& v) const {
      std::string text = "F";
      for (float x : v) text += Bits(x) + ",";
      return text;
    }
    std::string operator()(const std::vector<std::string>& v) const {
      std::string text = "S";
      for (const std::string& x : v) text += std::to_string(x.size()) + ":" + x;
      return text;
    }
    static std::string Bits(float v) { return std::to_string(std::bit_cast<uint32_t>(v)); }
  };
  return std::visit(Writer{}, attribute);
}

std::string KeyOf(const Node& node) {
  std::string key = node.domain + "|" + node.op + "|" + std::to_string(node.outputs.size());
  for (const auto& [name, attribute] : node.attributes) key += "|" + name + "=" + AttributeText(attribute);
  for (ValueId input : node.inputs) key += "," + std::to_string(input.value);
  for (ValueId output : node.outputs) key += output.valid() ? "+" : "-";
  return key;
}

// A DequantizeLinear is shared by no readers: see split_dequantisation.cc.
bool IsPure(const Graph& graph, const Node& node) {
  return node.subgraphs.empty() && !IsDequantisation(node) && !DrawsAtRandom(graph, node);
}

}  // namespace

Result<std::optional<Graph>> ShareCommonSubexpressions(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  std::map<std::string, NodeId> first;
  bool changed = false;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const NodeId id(i);
    const Node& node = builder.graph().node(id);
    if (!IsPure(builder.graph(), node)) continue;
    const auto [at, is_new] = first.emplace(KeyOf(node), id);
    if (is_new) continue;
    // Two outputs of the graph keep two names.
    bool is_output = false;
    for (ValueId output : node.outputs) is_output |= output.valid() && builder.graph().value(output).is_graph_output;
    if (is_output) continue;
    const std::vector<ValueId> from = node.outputs, to = builder.graph().node(at->second).outputs;
    for (size_t o = 0; o < from.size(); ++o) {
      if (from[o].valid()) builder.ReplaceUses(from[o], to[o]);
    }
    MergeSources(builder, at->second, id);
    builder.RemoveNode(id);
    changed = true;
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
