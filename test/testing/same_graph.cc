#include "test/testing/same_graph.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace pt::testing {
namespace {

bool IsSame(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.dims() == b.dims() && a.content_hash() == b.content_hash();
}

bool IsSame(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

bool IsSame(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* tensor = std::get_if<Tensor>(&a)) return IsSame(*tensor, std::get<Tensor>(b));
  if (const auto* number = std::get_if<float>(&a)) return IsSame(*number, std::get<float>(b));
  if (const auto* numbers = std::get_if<std::vector<float>>(&a)) {
    const auto& others = std::get<std::vector<float>>(b);
    return std::equal(numbers->begin(), numbers->end(), others.begin(), others.end(),
                      [](float x, float y) { return IsSame(x, y); });
  }
  if (const auto* number = std::get_if<int64_t>(&a)) return *number == std::get<int64_t>(b);
  if (const auto* text = std::get_if<std::string>(&a)) return *text == std::get<std::string>(b);
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&a)) return *numbers == std::get<std::vector<int64_t>>(b);
  return std::get<std::vector<std::string>>(a) == std::get<std::vector<std::string>>(b);
}

// Whether all that `says` knows is in `is`, as far as that is known.
bool Holds(const ValueType& says, const ValueType& is, bool all) {
  if (says.other != is.other) return !all && is.other.empty() && is.type == DataType::kUndefined;
  if (says.type != DataType::kUndefined && says.type != is.type) return !all && is.type == DataType::kUndefined;
  if (!says.ranked || !is.ranked) return !says.ranked || !all;
  if (says.dims.size() != is.dims.size()) return false;
  for (size_t d = 0; d < says.dims.size(); ++d) {
    if (!says.dims[d].known()) {
      if (all && !is.dims[d].known() && says.dims[d].name != is.dims[d].name) return false;
    } else if (says.dims[d].value != is.dims[d].value && (all || is.dims[d].known())) {
      return false;
    }
  }
  return true;
}

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b, const std::map<std::string, ValueType>& declared)
      : a_(a), b_(b), declared_(declared) {}

  std::string Run() {
    if (a_.opset() != b_.opset() || a_.domains() != b_.domains()) return "opsets";
    if (std::string fault = Values(a_.inputs(), b_.inputs(), "input"); !fault.empty()) return fault;
    if (std::string fault = Values(a_.captured(), b_.captured(), "captured value"); !fault.empty()) return fault;
    if (a_.nodes().size() != b_.nodes().size()) {
      return std::to_string(a_.nodes().size()) + " nodes are " + std::to_string(b_.nodes().size());
    }
    for (size_t i = 0; i < a_.nodes().size(); ++i) {
      if (std::string fault = Nodes(a_.nodes()[i], b_.nodes()[i]); !fault.empty()) {
        return NodeLabel(a_, NodeId(i)) + ": " + fault;
      }
    }
    return Values(a_.outputs(), b_.outputs(), "output");
  }

 private:
  template <typename Ids>
  std::string Values(const Ids& a, const Ids& b, const std::string& what) {
    if (a.size() != b.size()) return std::to_string(a.size()) + " of " + what + " are " + std::to_string(b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::string fault = OneValue(a[i], b[i]); !fault.empty())
        return what + " " + std::to_string(i) + ": " + fault;
    }
    return "";
  }

  std::string OneValue(ValueId a, ValueId b) {
    if (!a.valid() || !b.valid()) return a.valid() == b.valid() ? "" : "absent in one";
    if (const auto [at, is_new] = met_.emplace(a, b); !is_new) return at->second == b ? "" : "another value";
    const Value &x = a_.value(a), &y = b_.value(b);
    if (!x.name.empty() && x.name != y.name) return "\"" + x.name + "\" is \"" + y.name + "\"";
    if (x.is_constant() != y.is_constant()) return "constant in one";
    if (x.is_constant()) return IsSame(*x.constant, *y.constant) ? "" : "another constant";
    if (x.producer.valid() != y.producer.valid()) return "made by a node in one";
    const auto declared = declared_.find(y.name);
    const bool stands =
        Holds(x.type, y.type, /*all=*/true) || (Holds(x.type, y.type, /*all=*/false) && declared != declared_.end() &&
                                                Holds(x.type, declared->second, /*all=*/true));
    if (stands) return "";
    return "\"" + x.name + "\" of type " + ToString(x.type) + " is " + ToString(y.type) +
           (declared == declared_.end() ? "" : ", declared as " + ToString(declared->second));
  }

  std::string Nodes(const Node& a, const Node& b) {
    if (a.op != b.op || a.domain != b.domain || a.name != b.name) return "is another operator or called otherwise";
    if (a.attributes.size() != b.attributes.size()) return "has other attributes";
    for (const auto& [name, attribute] : a.attributes) {
      const Attribute* other = b.find(name);
      if (other == nullptr || !IsSame(attribute, *other)) return "attribute " + name;
    }
    if (a.formal_inputs != b.formal_inputs) return "has other inputs";
    if (std::string fault = Values(a.inputs, b.inputs, "input"); !fault.empty()) return fault;
    if (std::string fault = Values(a.outputs, b.outputs, "output"); !fault.empty()) return fault;
    if (a.subgraphs.size() != b.subgraphs.size()) return "has other nested graphs";
    for (size_t s = 0; s < a.subgraphs.size(); ++s) {
      const Subgraph &x = a.subgraphs[s], &y = b.subgraphs[s];
      if (x.attribute != y.attribute || x.captures != y.captures) return "nested graph " + x.attribute;
      if (std::string fault = GraphDifference(*x.graph, *y.graph); !fault.empty()) return x.attribute + ": " + fault;
    }
    return "";
  }

  const Graph &a_, &b_;
  const std::map<std::string, ValueType>& declared_;
  std::unordered_map<ValueId, ValueId> met_;
};

}  // namespace

std::string GraphDifference(const Graph& a, const Graph& b, const std::map<std::string, ValueType>& declared) {
  return Comparison(a, b, declared).Run();
}

}  // namespace pt::testing
