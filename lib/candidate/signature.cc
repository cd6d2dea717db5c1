#include "partitiontuner/candidate/signature.h"

#include <array>
#include <charconv>
#include <map>

#include "partitiontuner/support/dims_text.h"

namespace pt {
namespace {

constexpr int64_t kShownElements = 64;

std::string NumberText(float number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return std::string(buffer.data(), end);
}

// Quoted, on one line, free of the separator " | ".
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\' || c == '|' || static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view kHex = "0123456789abcdef";
      quoted += "\\x";
      quoted += kHex[static_cast<unsigned char>(c) >> 4];
      quoted += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string TensorText(const Tensor& tensor) {
  std::string text = ToString(StaticType(tensor.type(), tensor.dims()));
  const bool shown =
      (IsInteger(tensor.type()) || tensor.type() == DataType::kBool) && tensor.element_count() <= kShownElements;
  if (!shown) return text;
  text += "{";
  for (int64_t value : tensor.ToInts()) text += (text.back() == '{' ? "" : ",") + std::to_string(value);
  return text + "}";
}

struct AttributeText {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return NumberText(value); }
  std::string operator()(const std::string& value) const { return Quoted(value); }
  std::string operator()(const Tensor& value) const { return TensorText(value) + "#" + ToHex(value.content_hash()); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text = "[";
    for (const T& value : values) text += (text.size() == 1 ? "" : ",") + (*this)(value);
    return text + "]";
  }
};

// Unknown dims carry names of the model, which must not tell groups apart.
std::string TypeText(const ValueType& type) {
  ValueType plain = type;
  for (Dim& dim : plain.dims) dim.name.clear();
  return ToString(plain);
}

class GroupText {
 public:
  GroupText(const Graph& graph, std::span<const NodeId> nodes) : graph_(graph) {
    for (ValueId id : GroupInputs(graph, nodes)) Name(id, "i");
    for (ValueId id : GroupOutputs(graph, nodes)) Name(id, "o");
    text_ = "opset " + std::to_string(graph.opset()) + ": ";
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (i != 0) text_ += "; ";
      AppendNode(graph.node(nodes[i]));
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void Name(ValueId id, const char* kind) {
    const std::string number = std::to_string(counts_[*kind]);
    if (names_.emplace(id, kind + number).second) ++counts_[*kind];
  }

  void AppendValue(ValueId id) {
    if (!id.valid()) {
      text_ += "-";
      return;
    }
    const Value& value = graph_.value(id);
    Name(id, value.is_constant() ? "c" : "t");
    text_ += names_.at(id);
    if (mentioned_[id]++ != 0) return;  // a repeat is the same value: its name alone tells
    text_ += value.is_constant() ? ":const " + TensorText(*value.constant) : ":" + TypeText(value.type);
  }

  void AppendNode(const Node& node) {
    text_ += node.domain.empty() ? node.op : Quoted(node.domain) + "." + node.op;
    text_ += "{";
    for (const auto& [key, value] : node.attributes) {
      if (text_.back() != '{') text_ += ",";
      text_ += key + "=" + std::visit(AttributeText(), value);
    }
    for (const Subgraph& subgraph : node.subgraphs) {
      if (text_.back() != '{') text_ += ",";
      text_ += subgraph.attribute + "=graph#" + ToHex(GraphHash(*subgraph.graph));
    }
    text_ += "}(";
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i != 0) text_ += ",";
      AppendValue(node.inputs[i]);
    }
    text_ += ")->(";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (i != 0) text_ += ",";
      AppendValue(node.outputs[i]);
    }
    text_ += ")";
  }

  const Graph& graph_;
  std::string text_;
  std::map<ValueId, std::string> names_;
  std::map<ValueId, int> mentioned_;
  std::map<char, int> counts_;
};

std::string FormText(const Form& form) {
  const std::string quantised = form.quantisation.valid() ? " quantised " + ToString(form.quantisation) : "";
  return std::string(DataTypeName(form.storage)) + ":" + ToString(form.layout) + quantised;
}

std::string FormsText(std::span<const Form> forms) {
  std::string text;
  for (const Form& form : forms) text += (text.empty() ? "" : ",") + FormText(form);
  return text;
}

std::string MethodField() { return " | method " + std::to_string(kMeasurementMethodVersion); }

}  // namespace

std::string WorkSignature(const Graph& graph, std::span<const NodeId> nodes) { return GroupText(graph, nodes).take(); }

MeasurementKey MakeKey(std::string text) {
  text += MethodField();
  const Hash128 hash = HashText(text);
  return {std::move(text), hash};
}

MeasurementKey WithField(MeasurementKey key, std::string_view field) {
  key.text.append(" | ").append(field);
  key.hash = HashText(key.text);
  return key;
}

std::string UnitClassFields(const Platform& platform, UnitClassId id) {
  const UnitClass& unit_class = platform.unit_class(id);
  return unit_class.name + " | " + platform.device(unit_class.device).fingerprint;
}

bool IsOfThisMethod(std::string_view key_text) {
  const std::string field = MethodField();
  const size_t at = key_text.find(field);  // no other field holds " | " and this word: names are quoted
  return at != std::string_view::npos && (at + field.size() == key_text.size() || key_text[at + field.size()] == ' ');
}

MeasurementKey CandidateKey(const Graph& graph, const Platform& platform, const Candidate& candidate,
                            std::string_view library_version) {
  std::string text = "run " + WorkSignature(graph, candidate.nodes);
  text += " | in " + FormsText(candidate.in) + " | out " + FormsText(candidate.out);
  text += " | aliases ";
  for (const Alias& alias : candidate.aliases) {
    text +=
        std::to_string(alias.out) + (alias.kind == Alias::Kind::kRequired ? "=" : "~") + std::to_string(alias.in) + " ";
  }
  text += "| elision " + std::to_string(static_cast<int>(candidate.elision));
  text += " | " + candidate.library + " " + std::string(library_version) + " | " + Quoted(candidate.variant);
  text += " | " + UnitClassFields(platform, candidate.unit_class) + " | " + std::string(MathModeName(candidate.math));
  return MakeKey(std::move(text));
}

MeasurementKey ReorderKey(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims,
                          const Form& from, const Form& to, std::string_view library_version) {
  return MakeKey("reorder " + DimsText(dims) + " | " + FormText(from) + " | " + FormText(to) + " | " +
                 std::string(library_version) + " | " + UnitClassFields(platform, unit_class));
}

}  // namespace pt
