#include "partitiontuner/graph/graph_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/visit_type.h"
#include "partitiontuner/support/random.h"

namespace pt {
namespace {

constexpr int64_t kTextOpset = 25;      // when the text names none
constexpr int64_t kShownElements = 64;  // integer constants up to this size are written out
constexpr std::string_view kDelimiters = " \t,()=:[]";

// ---- reading ----

struct Token {
  enum class Kind { kWord, kQuoted, kSymbol, kEnd } kind = Kind::kEnd;
  std::string text;
  size_t column = 0;

  bool is(char symbol) const { return kind == Kind::kSymbol && text[0] == symbol; }
  bool is_name() const { return kind == Kind::kWord || kind == Kind::kQuoted; }
};

// The words of one line. A name may hold anything but blanks and ,()=:[]# ; others are written in
// quotes with \" and \\.
Result<std::vector<Token>> Split(std::string_view line) {
  std::vector<Token> tokens;
  size_t i = 0;
  while (i < line.size()) {
    const char c = line[i];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
    } else if (c == '#') {
      break;
    } else if (c == '"') {
      Token token{Token::Kind::kQuoted, {}, i + 1};
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '\\' && i + 1 < line.size()) ++i;
        token.text += line[i];
      }
      if (i == line.size()) return MakeError(ErrorCode::kInvalidInput, "text.syntax", "a quote is not closed");
      ++i;
      tokens.push_back(std::move(token));
    } else if (kDelimiters.find(c) != std::string_view::npos) {
      tokens.push_back({Token::Kind::kSymbol, std::string(1, c), i + 1});
      ++i;
    } else {
      const size_t end = std::min(line.find_first_of(" \t\r,()=:[]#\"", i), line.size());
      tokens.push_back({Token::Kind::kWord, std::string(line.substr(i, end - i)), i + 1});
      i = end;
    }
  }
  tokens.push_back({Token::Kind::kEnd, "end of line", line.size() + 1});
  return tokens;
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// One element of `type` written to bytes; false for types the text form cannot fill.
bool AppendElement(DataType type, double value, std::string& bytes) {
  return VisitType(type, [&]<typename T>() {
    if constexpr (kIsNumber<T>) {
      const T element = ElementOf<T>(value);
      bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
    }
    return kIsNumber<T>;
  });
}

// False for numbers beyond the integers of that type, and for NaN.
bool CanHold(DataType type, double value) {
  return VisitType(type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Range = std::numeric_limits<T>;
      return value >= static_cast<double>(Range::min()) && value < std::ldexp(1.0, Range::digits);
    }
    return true;
  });
}

class Parser {
 public:
  Result<Graph> Run(std::string_view text) {
    builder_.set_opset(kTextOpset);
    size_t line_number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      ++line_number;
      Status status = ParseLine(line);
      if (!status.ok()) {
        Error error = std::move(status).error();
        error.message = "line " + std::to_string(line_number) + ": " + error.message;
        return error;
      }
    }
    return builder_.Build();
  }

 private:
  Error Wrong(const std::string& expected) const {
    return MakeError(
        ErrorCode::kInvalidInput, "text.syntax",
        "column " + std::to_string(peek().column) + ": expected " + expected + ", found \"" + peek().text + "\"");
  }
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token Take() { return tokens_[std::min(at_++, tokens_.size() - 1)]; }
  bool Accept(char symbol) {
    if (!peek().is(symbol)) return false;
    ++at_;
    return true;
  }
  Status Expect(char symbol) {
    if (!Accept(symbol)) return Wrong(std::string("'") + symbol + "'");
    return {};
  }
  Result<std::string> Name() {
    if (!peek().is_name()) return Wrong("a name");
    return Take().text;
  }
  template <typename T>
  Result<T> Number() {
    const auto value = peek().kind == Token::Kind::kWord ? ParseNumber<T>(peek().text) : std::nullopt;
    if (!value) return Wrong("a number");
    ++at_;
    return *value;
  }

  Status ParseLine(std::string_view line) {
    PT_ASSIGN(tokens_, Split(line));
    at_ = 0;
    if (peek().kind == Token::Kind::kEnd) return {};
    const bool defines = peek(1).is('=') || peek(1).is(',');  // a value may be called "input"
    if (!defines && peek().kind == Token::Kind::kWord) {
      if (peek().text == "input") return ParseInput();
      if (peek().text == "const") return ParseConstant();
      if (peek().text == "output") return ParseOutput();
      if (peek().text == "opset") return ParseOpset();
      if (peek().text == "graph") return ParseGraphName();
    }
    return ParseNode();
  }
  Status ExpectEnd() {
    if (peek().kind != Token::Kind::kEnd) return Wrong("the end of the line");
    return {};
  }

  Result<ValueType> ParseType() {
    PT_ASSIGN(const std::string name, Name());
    const auto type = DataTypeFromName(name);
    ValueType value_type;
    if (!type && name == "undefined") {
      value_type.type = DataType::kUndefined;
    } else if (!type) {
      if (!Accept('(')) {
        value_type.other = name;
        return value_type;
      }
      if (!DataTypeFromName(peek().text)) return Wrong("the type of a tensor");
      PT_ASSIGN(value_type, ParseType());
      value_type.other = name;
      PT_CHECK_OK(Expect(')'));
      return value_type;
    } else {
      value_type.type = *type;
    }
    PT_CHECK_OK(Expect('['));
    if (peek().text == "*" && peek(1).is(']')) {
      at_ += 2;
      return value_type;
    }
    value_type.ranked = true;
    while (!Accept(']')) {
      if (!value_type.dims.empty()) PT_CHECK_OK(Expect(','));
      PT_ASSIGN(std::string dim, Name());
      const auto number = ParseNumber<int64_t>(dim);
      if (number && *number < 0) return Wrong("no negative dim");
      value_type.dims.push_back(number ? Dim{*number, {}} : Dim{-1, dim == "?" ? std::string() : std::move(dim)});
    }
    return value_type;
  }

  Result<ValueId> Define(std::string name, ValueId id) {
    if (!ids_.emplace(name, id).second) {
      return MakeError(ErrorCode::kInvalidInput, "text.duplicate", "\"" + name + "\" is defined twice");
    }
    return id;
  }
  // A value read before the line that makes it is allowed: Build sorts.
  ValueId Use(const std::string& name) {
    const auto at = ids_.find(name);
    if (at != ids_.end()) return at->second;
    const ValueId id = builder_.AddValue(name);
    ids_.emplace(name, id);
    forward_.emplace(name, id);
    return id;
  }

  Status ParseInput() {
    ++at_;
    PT_ASSIGN(const std::string name, Name());
    PT_ASSIGN(ValueType type, ParseType());
    PT_CHECK_OK(Define(name, builder_.AddInput(name, std::move(type))));
    return ExpectEnd();
  }
  Status ParseOutput() {
    do {
      ++at_;
      PT_ASSIGN(const std::string name, Name());
      builder_.AddOutput(Use(name));
    } while (peek().is(','));
    return ExpectEnd();
  }
  Status ParseOpset() {
    ++at_;
    PT_ASSIGN(const std::string first, Name());
    if (const auto version = ParseNumber<int64_t>(first)) {
      builder_.set_opset(*version);
    } else {
      PT_ASSIGN(const int64_t domain_version, Number<int64_t>());
      builder_.set_domain(first, domain_version);
    }
    return ExpectEnd();
  }
  Status ParseGraphName() {
    ++at_;
    PT_ASSIGN(std::string name, Name());
    builder_.set_name(std::move(name));
    return ExpectEnd();
  }

  Status ParseConstant() {
    ++at_;
    PT_ASSIGN(const std::string name, Name());
    PT_ASSIGN(const ValueType type, ParseType());
    const auto dims = type.static_dims();
    if (!dims) return Wrong("known dims for a constant");
    PT_ASSIGN(Tensor tensor, ParseFill(type.type, *dims));
    PT_CHECK_OK(Define(name, builder_.AddConstant(name, std::move(tensor))));
    return ExpectEnd();
  }

  // Of 64 bits, which a double does not hold.
  template <typename T>
  Result<Tensor> ParseIntegers(DataType type, const std::vector<int64_t>& dims) {
    std::string bytes;
    while (peek().kind == Token::Kind::kWord) {
      PT_ASSIGN(const T element, Number<T>());
      bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
    }
    return Tensor::FromBytes(type, dims, std::move(bytes));
  }

  Result<Tensor> ParseFill(DataType type, const std::vector<int64_t>& dims) {
    PT_ASSIGN(const int64_t byte_count, TensorByteCount(type, dims));
    if (byte_count > (int64_t{1} << 31)) return Wrong("a constant of at most 2 GiB");
    PT_ASSIGN(const std::string rule, Name());
    if (rule == "zeros") return Tensor::FromBytes(type, dims, std::string(static_cast<size_t>(byte_count), '\0'));
    const int64_t count = byte_count / std::max<int64_t>(BytesOf(type), 1);
    std::vector<double> values;
    if (rule == "ones") {
      values.assign(static_cast<size_t>(count), 1.0);
    } else if (rule == "value") {
      PT_ASSIGN(const double value, Number<double>());
      values.assign(static_cast<size_t>(count), value);
    } else if (rule == "random") {
      PT_ASSIGN(const uint64_t seed, Number<uint64_t>());
      Random random(seed);
      for (int64_t i = 0; i < count; ++i) {
        const double u = random.Uniform(-1, 1);
        values.push_back(type == DataType::kBool ? static_cast<double>(u < 0)
                         : IsInteger(type)       ? std::floor(std::abs(u) * 8)
                                                 : u);
      }
    } else if (rule == "whole" && RangeOf(type)) {
      PT_ASSIGN(const uint64_t seed, Number<uint64_t>());
      Random random(seed);
      if (BitsOf(type) < 8) {  // several to a byte, each of whatever bits
        std::string bytes;
        for (int64_t i = 0; i < byte_count; ++i)
          bytes.push_back(static_cast<char>(static_cast<uint8_t>(random.Uniform(0, 256))));
        return Tensor::FromBytes(type, dims, std::move(bytes));
      }
      const IntegerRange range = *RangeOf(type);
      for (int64_t i = 0; i < count; ++i) values.push_back(std::floor(random.Uniform(range.low, range.high + 1)));
    } else if (rule == "ints" && type == DataType::kInt64) {
      return ParseIntegers<int64_t>(type, dims);
    } else if (rule == "ints" && type == DataType::kUint64) {
      return ParseIntegers<uint64_t>(type, dims);
    } else if (rule == "ints" || rule == "floats") {
      while (peek().kind == Token::Kind::kWord) {
        PT_ASSIGN(const double value, Number<double>());
        values.push_back(value);
      }
    } else {
      return MakeError(ErrorCode::kInvalidInput, "text.fill",
                       "no fill rule \"" + rule + "\" (zeros, ones, value, random, whole, ints, floats)");
    }
    std::string bytes;
    for (double value : values) {
      if (!CanHold(type, value)) {
        return MakeError(ErrorCode::kInvalidInput, "text.fill",
                         "type " + std::string(DataTypeName(type)) + " holds no " + std::to_string(value));
      }
      if (!AppendElement(type, value, bytes)) {
        return MakeError(
            ErrorCode::kInvalidInput, "text.fill",
            "type " + std::string(DataTypeName(type)) + " has only the fill rules zeros and, of integers, whole");
      }
    }
    return Tensor::FromBytes(type, dims, std::move(bytes));
  }

  Status ParseNode() {
    std::vector<std::string> names;
    do {
      if (!names.empty()) ++at_;
      PT_ASSIGN(std::string name, Name());
      names.push_back(std::move(name));
    } while (peek().is(','));
    PT_CHECK_OK(Expect('='));
    PT_ASSIGN(std::string op, Name());
    Node node;
    if (const size_t dot = op.rfind('.'); dot != std::string::npos) {
      node.domain = op.substr(0, dot);
      op.erase(0, dot + 1);
    }
    node.op = std::move(op);
    PT_CHECK_OK(Expect('('));
    while (!Accept(')')) {
      if (!node.inputs.empty()) PT_CHECK_OK(Expect(','));
      PT_ASSIGN(const std::string name, Name());
      node.inputs.push_back(name == "_" ? ValueId() : Use(name));
    }
    while (peek().is_name() && peek(1).is('=')) PT_CHECK_OK(ParseAttribute(node));
    std::vector<ValueType> types;
    if (Accept(':')) {
      do {
        if (!types.empty()) ++at_;
        PT_ASSIGN(ValueType type, ParseType());
        types.push_back(std::move(type));
      } while (peek().is(','));
    }
    PT_CHECK_OK(ExpectEnd());
    if (types.size() > names.size()) return Wrong("no more types than outputs");
    for (size_t i = 0; i < names.size(); ++i) {
      PT_ASSIGN(const ValueId id, DefineOutput(names[i]));
      if (id.valid() && i < types.size()) builder_.value(id).type = std::move(types[i]);
      node.outputs.push_back(id);
    }
    builder_.AddNode(std::move(node));
    return {};
  }
  Result<ValueId> DefineOutput(const std::string& name) {
    if (name == "_") return ValueId();
    if (const auto at = forward_.find(name); at != forward_.end()) {
      const ValueId id = at->second;
      forward_.erase(at);
      return id;
    }
    return Define(name, builder_.AddValue(name));
  }

  Status ParseAttribute(Node& node) {
    const std::string name = Take().text;
    ++at_;  // '='
    if (!Accept('[')) {
      PT_ASSIGN(Attribute value, ParseScalar());
      node.attributes[name] = std::move(value);
      return {};
    }
    std::vector<Attribute> items;
    while (!Accept(']')) {
      if (!items.empty()) PT_CHECK_OK(Expect(','));
      PT_ASSIGN(Attribute item, ParseScalar());
      items.push_back(std::move(item));
    }
    std::vector<int64_t> ints;
    std::vector<float> floats;
    std::vector<std::string> strings;
    for (const Attribute& item : items) {
      if (const auto* i = std::get_if<int64_t>(&item)) {
        ints.push_back(*i);
      } else if (const auto* f = std::get_if<float>(&item)) {
        floats.push_back(*f);
      } else {
        strings.push_back(std::get<std::string>(item));
      }
    }
    if (ints.size() == items.size()) {
      node.attributes[name] = std::move(ints);
    } else if (floats.size() == items.size()) {
      node.attributes[name] = std::move(floats);
    } else if (strings.size() == items.size()) {
      node.attributes[name] = std::move(strings);
    } else {
      return Wrong("a list of one kind");
    }
    return {};
  }
  Result<Attribute> ParseScalar() {
    if (peek().kind == Token::Kind::kQuoted) return Attribute(Take().text);
    if (peek().kind == Token::Kind::kWord) {
      if (const auto i = ParseNumber<int64_t>(peek().text)) return ++at_, Attribute(*i);
      if (const auto f = ParseNumber<float>(peek().text)) return ++at_, Attribute(*f);
    }
    return Wrong("a number or a quoted text");
  }

  GraphBuilder builder_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::unordered_map<std::string, ValueId> ids_;
  std::unordered_map<std::string, ValueId> forward_;  // used but not made yet
};

// ---- writing ----

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string NameText(const Graph& graph, ValueId id) {
  if (!id.valid()) return "_";
  const std::string& name = graph.value(id).name;
  if (name.empty()) return "%" + std::to_string(id.value);
  const bool plain = name != "_" && name.find_first_of(" \t\r,()=:[]#\"") == std::string::npos;
  return plain ? name : Quoted(name);
}

template <typename T>
std::string NumberText(T value) {
  char buffer[48];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string FloatText(float value) {
  std::string text = NumberText(value);
  if (text.find_first_of(".enai") == std::string::npos) text += ".0";
  return text;
}

template <typename T, typename F>
std::string ListText(const std::vector<T>& items, F one) {
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + one(items[i]);
  return text + "]";
}

std::string AttributeText(const Attribute& attribute) {
  if (const auto* i = std::get_if<int64_t>(&attribute)) return NumberText(*i);
  if (const auto* f = std::get_if<float>(&attribute)) return FloatText(*f);
  if (const auto* s = std::get_if<std::string>(&attribute)) return Quoted(*s);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&attribute)) return ListText(*v, NumberText<int64_t>);
  if (const auto* v = std::get_if<std::vector<float>>(&attribute)) return ListText(*v, FloatText);
  if (const auto* v = std::get_if<std::vector<std::string>>(&attribute)) return ListText(*v, Quoted);
  const Tensor& tensor = std::get<Tensor>(attribute);
  return Quoted(ToString(StaticType(tensor.type(), tensor.dims())) + " hash " + ToHex(tensor.content_hash()));
}

bool AllBytesZero(const Tensor& tensor) {
  return std::all_of(tensor.bytes().begin(), tensor.bytes().end(), [](std::byte b) { return b == std::byte{0}; });
}

std::string FillText(const Tensor& tensor) {
  if (tensor.type() != DataType::kString && AllBytesZero(tensor)) return "zeros";
  const bool integers = BytesOf(tensor.type()) != 0 && (IsInteger(tensor.type()) || tensor.type() == DataType::kBool);
  // Numbers beyond 2^53 would not survive the way through double.
  const auto exact = [](int64_t i) { return i >= -(int64_t{1} << 53) && i <= (int64_t{1} << 53); };
  if (integers && tensor.element_count() <= kShownElements) {
    const std::vector<int64_t> ints = tensor.ToInts();
    if (std::all_of(ints.begin(), ints.end(), exact)) {
      std::string text = "ints";
      for (int64_t i : ints) text += " " + NumberText(i);
      return text;
    }
  }
  if (tensor.type() == DataType::kFloat32) {
    const auto floats = tensor.values<float>();
    if (std::all_of(floats.begin(), floats.end(), [&](float f) { return f == floats[0]; }))
      return "value " + NumberText(floats[0]);
  }
  return "hash " + ToHex(tensor.content_hash());
}

std::string TypeText(const ValueType& type) { return ToString(type); }

}  // namespace

Result<Graph> ParseGraph(std::string_view text) { return Parser().Run(text); }

std::string GraphText(const Graph& graph) {
  std::string text;
  if (!graph.name().empty()) text += "graph " + Quoted(graph.name()) + "\n";
  if (graph.opset() != kTextOpset) text += "opset " + std::to_string(graph.opset()) + "\n";
  for (const auto& [domain, version] : graph.domains())
    text += "opset " + domain + " " + std::to_string(version) + "\n";
  for (ValueId id : graph.inputs())
    text += "input " + NameText(graph, id) + " " + TypeText(graph.value(id).type) + "\n";
  for (ValueId id : graph.captured())
    text += "captured " + NameText(graph, id) + " " + TypeText(graph.value(id).type) + "\n";
  for (size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.is_constant())
      text +=
          "const " + NameText(graph, ValueId(i)) + " " + TypeText(value.type) + " " + FillText(*value.constant) + "\n";
  }
  for (const Node& node : graph.nodes()) {
    std::string outputs, inputs, types;
    bool typed = false;
    for (ValueId id : node.outputs) {
      outputs += (outputs.empty() ? "" : ", ") + NameText(graph, id);
      const ValueType type = id.valid() ? graph.value(id).type : ValueType();
      typed = typed || !(type == ValueType());
      types += (types.empty() ? "" : ", ") + TypeText(type);
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs += (i == 0 ? "" : i == node.formal_inputs ? "; " : ", ") + NameText(graph, node.inputs[i]);
    }
    text += outputs + " = " + (node.domain.empty() ? "" : node.domain + ".") + node.op + "(" + inputs + ")";
    for (const auto& [name, attribute] : node.attributes) text += " " + name + "=" + AttributeText(attribute);
    for (const Subgraph& subgraph : node.subgraphs) text += " {" + subgraph.attribute + "}";
    if (typed) text += " : " + types;
    text += "\n";
  }
  for (ValueId id : graph.outputs()) text += "output " + NameText(graph, id) + "\n";
  return text;
}

}  // namespace pt
