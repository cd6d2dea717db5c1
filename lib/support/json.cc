#include "partitiontuner/support/json.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace pt {
namespace {

Error JsonError(std::string id, std::string message) {
  return MakeError(ErrorCode::kInvalidInput, std::move(id), std::move(message));
}

// Hands bytes to the lexer and counts them, so that our own errors can name a position.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  size_t* count = nullptr;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    if (count != nullptr) ++*count;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return a.at != b.at; }
};

std::string PositionOf(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  size_t line = 1, column = 1;
  for (char c : text.substr(0, offset)) {
    ++column;
    if (c == '\n') {
      ++line;
      column = 1;
    }
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Builds our values from the library's events: its own document type would merge duplicate keys.
class JsonSax : public nlohmann::json::json_sax_t {
 public:
  JsonSax(std::string_view text, const Limits& limits) : text_(text), limits_(limits) {}

  size_t consumed = 0;
  std::string error;  // not empty: refused, with position
  Json root;

  bool null() override { return Add(Json()); }
  bool boolean(bool b) override { return Add(Json(b)); }
  bool number_integer(number_integer_t i) override { return Add(Json(static_cast<int64_t>(i))); }
  bool number_unsigned(number_unsigned_t u) override { return Add(Json(static_cast<uint64_t>(u))); }
  bool number_float(number_float_t d, const string_t&) override {
    if (!std::isfinite(d)) return Refuse("number out of range");
    return Add(Json(static_cast<double>(d)));
  }
  bool string(string_t& s) override { return Add(Json(std::move(s))); }
  bool binary(binary_t&) override { return Refuse("binary value"); }

  bool start_object(std::size_t) override { return Open(true); }
  bool key(string_t& k) override {
    Frame& frame = stack_.back();
    if (!frame.keys.insert(k).second) return Refuse("duplicate key \"" + k + "\"");
    frame.key = std::move(k);
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(false); }
  bool end_array() override { return Close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    std::string what = e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error …"
    const size_t colon = what.find(": ");
    if (colon != std::string::npos && what.find(" at line ") < colon) {
      what.erase(0, colon + 2);
    } else if (const size_t bracket = what.find("] "); bracket != std::string::npos) {
      what.erase(0, bracket + 2);
    }
    error = PositionOf(text_, position == 0 ? consumed : position - 1) + ": " + what;
    return false;
  }

 private:
  struct Frame {
    bool is_object = false;
    Json::Array array;
    Json::Object object;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  bool Refuse(const std::string& what) {
    error = PositionOf(text_, consumed == 0 ? 0 : consumed - 1) + ": " + what;
    return false;
  }
  bool Open(bool is_object) {
    if (limits_.json_depth != 0 && stack_.size() >= limits_.json_depth) {
      return Refuse("nested deeper than " + std::to_string(limits_.json_depth));
    }
    stack_.emplace_back().is_object = is_object;
    return true;
  }
  bool Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    return frame.is_object ? Add(Json(std::move(frame.object))) : Add(Json(std::move(frame.array)));
  }
  bool Add(Json value) {
    if (stack_.empty()) {
      root = std::move(value);
    } else if (Frame& frame = stack_.back(); frame.is_object) {
      frame.object.emplace_back(std::move(frame.key), std::move(value));
    } else {
      frame.array.push_back(std::move(value));
    }
    return true;
  }

  std::string_view text_;
  const Limits& limits_;
  std::vector<Frame> stack_;
};

void WriteString(const std::string& text, std::string& out) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
  if (plain) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  // Names in models may be no UTF-8; a file of ours always is.
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void WriteNumber(double number, std::string& out) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  const std::string_view digits(buffer, static_cast<size_t>(end - buffer));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";  // stays a double when read
}

bool IsShortScalar(const Json& json) {
  if (const std::string* s = json.as_string()) return s->size() <= 24;
  return json.as_array() == nullptr && json.as_object() == nullptr;
}

void Write(const Json& json, int indent, int level, std::string& out) {
  const auto new_line = [&](int at) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<size_t>(indent) * static_cast<size_t>(at), ' ');
  };
  if (json.is_null()) {
    out += "null";
  } else if (const bool* b = json.as_bool()) {
    out += *b ? "true" : "false";
  } else if (const int64_t* i = json.as_int()) {
    out += std::to_string(*i);
  } else if (const std::string* s = json.as_string()) {
    WriteString(*s, out);
  } else if (const Json::Array* array = json.as_array()) {
    const bool one_line = indent < 0 || std::all_of(array->begin(), array->end(), IsShortScalar);
    out += '[';
    for (size_t n = 0; n < array->size(); ++n) {
      if (n != 0) out += one_line && indent >= 0 ? ", " : ",";
      if (!one_line) new_line(level + 1);
      Write((*array)[n], indent, level + 1, out);
    }
    if (!one_line) new_line(level);
    out += ']';
  } else if (const Json::Object* object = json.as_object()) {
    out += '{';
    for (size_t n = 0; n < object->size(); ++n) {
      if (n != 0) out += ',';
      new_line(level + 1);
      WriteString((*object)[n].first, out);
      out += indent < 0 ? ":" : ": ";
      Write((*object)[n].second, indent, level + 1, out);
    }
    if (!object->empty()) new_line(level);
    out += '}';
  } else {
    WriteNumber(*json.as_number(), out);
  }
}

Error FieldError(std::string_view where, std::string_view key, const std::string& what) {
  return JsonError("json.field", std::string(where) + ": \"" + std::string(key) + "\" " + what);
}

Result<const Json*> Field(const Json& object, std::string_view key, std::string_view where) {
  if (object.as_object() == nullptr) return JsonError("json.field", std::string(where) + " is not an object");
  const Json* field = object.find(key);
  if (field == nullptr) return FieldError(where, key, "is missing");
  return field;
}

}  // namespace

Json::Json(uint64_t i) {
  if (i <= static_cast<uint64_t>(INT64_MAX)) {
    data_ = static_cast<int64_t>(i);
  } else {
    data_ = static_cast<double>(i);
  }
}

std::optional<double> Json::as_number() const {
  if (const auto* i = std::get_if<int64_t>(&data_)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&data_)) return *d;
  return std::nullopt;
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  for (const auto& [name, value] : *object) {
    if (name == key) return &value;
  }
  return nullptr;
}

Json& Json::Set(std::string key, Json value) {
  if (is_null()) data_ = Object();
  assert(as_object() != nullptr && find(key) == nullptr);
  std::get<Object>(data_).emplace_back(std::move(key), std::move(value));
  return *this;
}

void Json::Push(Json value) {
  if (is_null()) data_ = Array();
  assert(as_array() != nullptr);
  std::get<Array>(data_).push_back(std::move(value));
}

Result<Json> ParseJson(std::string_view text, std::string_view what, const Limits& limits) {
  const auto refuse = [&](const std::string& message) {
    Error error = JsonError("json.parse", message);
    error.file = std::string(what);
    return error;
  };
  if (text.starts_with("\xEF\xBB\xBF")) return refuse("line 1, column 1: starts with a byte order mark");
  // The library takes a NUL for the end of the text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
    return refuse(PositionOf(text, nul) + ": a NUL character");
  JsonSax sax(text, limits);
  const CountingIterator first{text.data(), &sax.consumed}, last{text.data() + text.size(), nullptr};
  if (!nlohmann::json::sax_parse(first, last, &sax, nlohmann::json::input_format_t::json,
                                 /*strict=*/true)) {
    return refuse(sax.error);
  }
  return std::move(sax.root);
}

std::string WriteJson(const Json& json, int indent) {
  std::string out;
  Write(json, indent, 0, out);
  if (indent >= 0) out += '\n';
  return out;
}

Result<std::string> JsonString(const Json& object, std::string_view key, std::string_view where) {
  PT_ASSIGN(const Json* field, Field(object, key, where));
  if (const std::string* s = field->as_string()) return *s;
  return FieldError(where, key, "is not a string");
}

}  // namespace pt
