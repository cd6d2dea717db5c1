#include "partitiontuner/graph/graph.h"

namespace pt {
namespace {

template <typename T>
const T* Get(const Node& node, std::string_view attribute) {
  const Attribute* found = node.find(attribute);
  return found == nullptr ? nullptr : std::get_if<T>(found);
}

}  // namespace

bool ValueType::is_static() const {
  if (!other.empty() || !ranked || type == DataType::kUndefined) return false;
  for (const Dim& d : dims) {
    if (!d.known()) return false;
  }
  return true;
}

std::optional<std::vector<int64_t>> ValueType::static_dims() const {
  if (!is_static()) return std::nullopt;
  std::vector<int64_t> numbers;
  numbers.reserve(dims.size());
  for (const Dim& d : dims) numbers.push_back(d.value);
  return numbers;
}

ValueType StaticType(DataType type, std::vector<int64_t> dims) {
  ValueType value_type;
  value_type.type = type;
  value_type.ranked = true;
  value_type.dims.reserve(dims.size());
  for (int64_t d : dims) value_type.dims.push_back({d, {}});
  return value_type;
}

std::string ToString(const ValueType& type) {
  if (!type.other.empty()) {
    if (type.type == DataType::kUndefined) return type.other;
    ValueType element = type;
    element.other.clear();
    return type.other + "(" + ToString(element) + ")";
  }
  std::string text(DataTypeName(type.type));
  if (!type.ranked) return text + "[*]";
  text += '[';
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (i != 0) text += ',';
    const Dim& d = type.dims[i];
    text += d.known() ? std::to_string(d.value) : d.name.empty() ? "?" : d.name;
  }
  return text + ']';
}

const Attribute* Node::find(std::string_view attribute) const {
  const auto at = attributes.find(attribute);
  return at == attributes.end() ? nullptr : &at->second;
}

int64_t Node::int_or(std::string_view attribute, int64_t otherwise) const {
  const auto* v = Get<int64_t>(*this, attribute);
  return v == nullptr ? otherwise : *v;
}

float Node::float_or(std::string_view attribute, float otherwise) const {
  const auto* v = Get<float>(*this, attribute);
  return v == nullptr ? otherwise : *v;
}

std::string Node::string_or(std::string_view attribute, std::string_view otherwise) const {
  const auto* v = Get<std::string>(*this, attribute);
  return v == nullptr ? std::string(otherwise) : *v;
}

std::vector<int64_t> Node::ints_or(std::string_view attribute, std::vector<int64_t> otherwise) const {
  const auto* v = Get<std::vector<int64_t>>(*this, attribute);
  return v == nullptr ? otherwise : *v;
}

ValueId Graph::find_value(std::string_view name) const {
  if (name.empty()) return {};
  for (size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].name == name) return ValueId(i);
  }
  return {};
}

std::string NodeLabel(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string name = node.name;
  for (size_t i = 0; name.empty() && i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) name = graph.value(node.outputs[i]).name;
  }
  if (name.empty() && !node.source.empty()) name = node.source.front().first_output;
  std::string text = node.domain.empty() ? node.op : node.domain + "." + node.op;
  if (!name.empty()) text += " " + name;
  return text + " (#" + std::to_string(id.value) + ")";
}

}  // namespace pt
