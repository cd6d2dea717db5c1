// Json: an ordered JSON value, its reader and writer. The one place that sees the JSON library
// (lib/support/json.cc). Integers keep 64 bits; object keys keep their order; no locale is consulted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "partitiontuner/support/limits.h"
#include "partitiontuner/support/result.h"

namespace pt {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in file order, keys distinct

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool b) : data_(b) {}
  Json(int i) : data_(static_cast<int64_t>(i)) {}
  Json(int64_t i) : data_(i) {}
  Json(uint64_t i);  // above 2^63-1 kept as double
  Json(uint32_t i) : data_(static_cast<int64_t>(i)) {}
  Json(double d) : data_(d) {}
  Json(const char* s) : data_(std::string(s)) {}
  Json(std::string_view s) : data_(std::string(s)) {}
  Json(std::string s) : data_(std::move(s)) {}
  Json(Array a) : data_(std::move(a)) {}
  Json(Object o) : data_(std::move(o)) {}
  static Json MakeArray() { return Json(Array()); }
  static Json MakeObject() { return Json(Object()); }

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  const bool* as_bool() const { return std::get_if<bool>(&data_); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&data_); }
  const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  const Array* as_array() const { return std::get_if<Array>(&data_); }
  const Object* as_object() const { return std::get_if<Object>(&data_); }
  // Any number; nullopt when this is not one.
  std::optional<double> as_number() const;

  // Null when this is not an object or has no such key.
  const Json* find(std::string_view key) const;
  // Appends the pair (this must be an object or null, which becomes one); the key must be new.
  Json& Set(std::string key, Json value);
  // Appends to an array (this must be an array or null, which becomes one).
  void Push(Json value);

  friend bool operator==(const Json&, const Json&) = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> data_;
};

// Parses UTF-8 text. Errors (kInvalidInput) carry line and column; duplicate keys, depth over
// limits.json_depth, numbers that overflow a double and invalid UTF-8 are refused. `what` names the
// text in errors (a file name).
Result<Json> ParseJson(std::string_view text, std::string_view what, const Limits& limits = {});

// indent < 0: one line. Otherwise pretty-printed, arrays of only numbers and short strings on one
// line. Non-finite numbers are written as null.
std::string WriteJson(const Json& json, int indent = 2);

// One text of an object, with errors that name `where` (e.g. "profile") and the key. Structs are read by their Fields
// (fields.h).
Result<std::string> JsonString(const Json& object, std::string_view key, std::string_view where);

}  // namespace pt
