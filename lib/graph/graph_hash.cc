// GraphHash and ModelHash: one pass over the frozen vectors into a length-prefixed byte string. Ids
// are positions in the graph, so they stand for the edges; names do not count.
#include <bit>

#include "partitiontuner/graph/graph.h"

namespace pt {
namespace {

constexpr int64_t kSmallConstant = 64;  // elements up to which an integer constant decides shapes

class Writer {
 public:
  explicit Writer(bool all_constants) : all_constants_(all_constants) {}

  void WriteGraph(const Graph& graph) {
    Text("graph");
    Int(graph.opset());
    Int(static_cast<int64_t>(graph.domains().size()));
    for (const auto& [domain, version] : graph.domains()) {
      Text(domain);
      Int(version);
    }
    Int(static_cast<int64_t>(graph.values().size()));
    for (const Value& value : graph.values()) WriteValue(value);
    Ids(graph.inputs());
    Ids(graph.captured());
    Ids(graph.outputs());
    Int(static_cast<int64_t>(graph.nodes().size()));
    for (const Node& node : graph.nodes()) WriteNode(node);
  }
  Hash128 Finish() const { return HashText(bytes_); }

 private:
  void Int(int64_t i) {
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(static_cast<uint64_t>(i) >> shift);
  }
  void Text(std::string_view text) {
    Int(static_cast<int64_t>(text.size()));
    bytes_ += text;
  }
  void Hash(Hash128 hash) {
    Int(static_cast<int64_t>(hash.high));
    Int(static_cast<int64_t>(hash.low));
  }
  void Ids(std::span<const ValueId> ids) {
    Int(static_cast<int64_t>(ids.size()));
    for (ValueId id : ids) Int(id.value);
  }

  void WriteType(const ValueType& type) {
    Int(static_cast<int64_t>(type.type));
    Text(type.other);
    Int(type.ranked ? static_cast<int64_t>(type.dims.size()) : -1);
    for (const Dim& d : type.dims) {
      Int(d.known() ? d.value : -1);
      if (!d.known()) Text(d.name);
    }
  }

  void WriteValue(const Value& value) {
    WriteType(value.type);
    if (!value.constant) {
      Int(0);
      return;
    }
    const Tensor& tensor = *value.constant;
    const bool integers = IsInteger(tensor.type()) || tensor.type() == DataType::kBool;
    const bool content = all_constants_ || (integers && tensor.element_count() <= kSmallConstant);
    Int(content ? 2 : 1);
    if (content) Hash(tensor.content_hash());
  }

  void WriteAttribute(const Attribute& attribute) {
    Int(static_cast<int64_t>(attribute.index()));
    if (const auto* i = std::get_if<int64_t>(&attribute)) {
      Int(*i);
    } else if (const auto* f = std::get_if<float>(&attribute)) {
      Int(std::bit_cast<int32_t>(*f));
    } else if (const auto* s = std::get_if<std::string>(&attribute)) {
      Text(*s);
    } else if (const auto* t = std::get_if<Tensor>(&attribute)) {
      Hash(t->content_hash());
    } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute)) {
      Int(static_cast<int64_t>(ints->size()));
      for (int64_t v : *ints) Int(v);
    } else if (const auto* floats = std::get_if<std::vector<float>>(&attribute)) {
      Int(static_cast<int64_t>(floats->size()));
      for (float v : *floats) Int(std::bit_cast<int32_t>(v));
    } else if (const auto* strings = std::get_if<std::vector<std::string>>(&attribute)) {
      Int(static_cast<int64_t>(strings->size()));
      for (const std::string& v : *strings) Text(v);
    }
  }

  void WriteNode(const Node& node) {
    Text(node.domain);
    Text(node.op);
    Int(static_cast<int64_t>(node.attributes.size()));
    for (const auto& [name, attribute] : node.attributes) {
      Text(name);
      WriteAttribute(attribute);
    }
    Int(node.formal_inputs);
    Ids(node.inputs);
    Ids(node.outputs);
    Int(static_cast<int64_t>(node.subgraphs.size()));
    for (const Subgraph& subgraph : node.subgraphs) {
      Text(subgraph.attribute);
      Int(static_cast<int64_t>(subgraph.captures.size()));
      for (uint32_t index : subgraph.captures) Int(index);
      WriteGraph(*subgraph.graph);
    }
  }

  bool all_constants_;
  std::string bytes_;
};

}  // namespace

Hash128 GraphHash(const Graph& graph) {
  Writer writer(false);
  writer.WriteGraph(graph);
  return writer.Finish();
}

Hash128 ModelHash(const Graph& graph) {
  Writer writer(true);
  writer.WriteGraph(graph);
  return writer.Finish();
}

}  // namespace pt
