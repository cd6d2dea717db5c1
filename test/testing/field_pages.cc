#include "test/testing/field_pages.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

namespace pt::testing {
namespace {

constexpr std::string_view kBegin = "<!-- fields: ", kEnd = "<!-- end -->";
constexpr size_t kColumns = 120;

Json TypeOnly(const char* type) { return Json::MakeObject().Set("type", type); }

Json NumberJson(double number) {
  const bool whole = number == std::floor(number) && std::abs(number) < 9e18;
  return whole ? Json(static_cast<int64_t>(number)) : Json(number);
}

void SetRange(Json& schema, double least, double most) {
  if (std::isfinite(least)) schema.Set("minimum", NumberJson(least));
  if (std::isfinite(most)) schema.Set("maximum", NumberJson(most));
}

class FieldDescriber final : public FieldVisitor {
 public:
  FieldDescriber() : FieldVisitor(Purpose::kDescribe) {}

  Json Describe(const std::function<void(FieldVisitor&)>& fields) {
    VisitObject([&] { fields(*this); });
    return std::move(value_);
  }

  void Closed() override { objects_.back().closed = true; }
  void ErrorsAre(std::string_view) override {}
  bool Has(std::string_view) const override { return false; }
  std::optional<size_t> CountOf(std::string_view, size_t own) const override { return own; }
  void Fail(const std::string&, std::string_view, ErrorCode, std::string_view) override {}

 private:
  struct OpenField {
    std::string key;
    FieldNote note;
  };
  struct OpenObject {
    Json properties = Json::MakeObject(), required = Json::MakeArray();
    bool closed = false;
    std::string only;  // the case that fields are in
    std::string unless;
    Json alternative = Json::MakeArray();  // what is required unless that key is there
    std::optional<Json> one_of;
  };

  bool Enter(std::string_view key, const FieldNote& note, bool) override {
    fields_.push_back({std::string(key), note});
    return true;
  }
  void Leave() override {
    const OpenField field = std::move(fields_.back());
    fields_.pop_back();
    OpenObject& object = objects_.back();
    std::string text = (object.only.empty() ? "" : object.only + ": ") + std::string(field.note.meaning);
    if (!object.unless.empty()) text += "; absent with `" + object.unless + "`";
    if (!field.note.since.empty()) text += " (since " + std::string(field.note.since) + ")";
    object.properties.Set(field.key, std::move(value_.Set("description", text)));
    if (field.note.presence != FieldNote::Presence::kRequired || !object.only.empty()) return;
    (object.unless.empty() ? object.required : object.alternative).Push(field.key);
  }

  void Bool(bool&) override { value_ = TypeOnly("boolean"); }
  void Integer(int64_t&, const FieldNote& note) override {
    value_ = TypeOnly("integer");
    SetRange(value_, note.range.least, note.range.most);
  }
  void Unsigned(uint64_t&, uint64_t most, const FieldNote& note) override {
    value_ = TypeOnly("integer");
    const bool is_wide = most == std::numeric_limits<uint64_t>::max();
    SetRange(value_, std::max(0.0, note.range.least), is_wide ? note.range.most : static_cast<double>(most));
  }
  void Number(double&, const FieldNote& note) override {
    value_ = TypeOnly("number");
    SetRange(value_, note.range.least, note.range.most);
  }
  void Text(std::string&, const FieldNote& note) override {
    if (note.words.size() == 1) {
      value_ = Json::MakeObject().Set("const", note.words[0]);
    } else if (!note.words.empty()) {
      value_ = Json::MakeObject().Set("enum", Json::Array(note.words.begin(), note.words.end()));
    } else {
      value_ = TypeOnly("string");
    }
    if (!note.empty_fault.empty()) value_.Set("minLength", 1);
    if (!note.pattern.empty()) value_.Set("pattern", note.pattern);
  }
  void Index(uint32_t&, const FieldNote&) override { value_ = TypeOnly("integer").Set("minimum", 0); }
  void Any(Json&) override { value_ = Json::MakeObject(); }

  void VisitObject(const std::function<void()>& fields) override {
    objects_.emplace_back();
    fields();
    OpenObject object = std::move(objects_.back());
    objects_.pop_back();
    value_ = TypeOnly("object");
    if (!object.required.as_array()->empty()) value_.Set("required", std::move(object.required));
    if (object.closed) value_.Set("additionalProperties", false);
    value_.Set("properties", std::move(object.properties));
    if (object.one_of) value_.Set("oneOf", *std::move(object.one_of));
  }
  void VisitList(size_t, const FieldNote& note, const std::function<void(size_t)>& item) override {
    item(0);
    Json items = std::move(value_);
    value_ = TypeOnly("array");
    if (!note.empty_fault.empty()) value_.Set("minItems", 1);
    value_.Set("items", std::move(items));
  }
  void VisitEntries(const std::vector<std::string>&, const std::function<void(const std::string&)>& entry) override {
    entry("NAME");
    Json entries = std::move(value_);
    value_ = TypeOnly("object").Set("additionalProperties", std::move(entries));
  }

  void BeginCase(std::string_view when) override { objects_.back().only = when; }
  void EndCase() override { objects_.back().only.clear(); }
  void BeginAlternative(std::string_view key) override { objects_.back().unless = key; }
  void EndAlternative() override {
    OpenObject& object = objects_.back();
    const auto required = [](Json keys) { return Json::MakeObject().Set("required", std::move(keys)); };
    const Json key = Json(Json::Array{Json(std::exchange(object.unless, {}))});
    Json any = Json::MakeArray();
    for (const Json& other : *object.alternative.as_array()) any.Push(required(Json::Array{other}));
    Json one_of = Json::MakeArray();
    one_of.Push(required(object.alternative).Set("not", required(key)));
    one_of.Push(required(key).Set("not", Json::MakeObject().Set("anyOf", std::move(any))));
    object.one_of = std::move(one_of);
  }

  Json value_;  // described last
  std::vector<OpenField> fields_;
  std::vector<OpenObject> objects_;
};

// On one line "{"a": 1}", as people write it.
std::string OnOneLine(const Json& json) {
  std::string text;
  if (const Json::Object* object = json.as_object()) {
    for (const auto& [key, value] : *object) {
      text += (text.empty() ? "" : ", ") + WriteJson(Json(key), -1) + ": " + OnOneLine(value);
    }
    return "{" + text + "}";
  }
  if (const Json::Array* array = json.as_array()) {
    for (const Json& value : *array) text += (text.empty() ? "" : ", ") + OnOneLine(value);
    return "[" + text + "]";
  }
  return WriteJson(json, -1);
}

// `before`: how much of its first line is taken.
std::string Laid(const Json& json, size_t level, size_t before) {
  const std::string line = OnOneLine(json);
  const bool is_plain = json.as_object() == nullptr && json.as_array() == nullptr;
  if (is_plain || before + line.size() < kColumns) return line;
  const std::string margin(2 * level + 2, ' ');
  std::string text;
  const auto add = [&](const std::string& key, const Json& value) {
    text += (text.empty() ? "" : ",") + ("\n" + margin + key) + Laid(value, level + 1, margin.size() + key.size());
  };
  const std::string last = "\n" + std::string(2 * level, ' ');
  if (const Json::Object* object = json.as_object()) {
    for (const auto& [key, value] : *object) add(WriteJson(Json(key), -1) + ": ", value);
    return "{" + text + last + "}";
  }
  for (const Json& value : *json.as_array()) add("", value);
  return "[" + text + last + "]";
}

const Json& At(const Json& schema, std::string_view path) {
  const Json* at = &schema;
  while (!path.empty()) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    if (end > 0) at = at->find("properties")->find(path.substr(0, end));
    path.remove_prefix(end);
    if (path.starts_with("[]")) at = at->find("items"), path.remove_prefix(2);
    if (path.starts_with(".*")) at = at->find("additionalProperties"), path.remove_prefix(2);
    if (path.starts_with(".")) path.remove_prefix(1);
  }
  return *at;
}

std::string TypeText(const Json& schema) {
  if (schema.find("const") != nullptr || schema.find("enum") != nullptr) return "string";
  const Json* type = schema.find("type");
  if (type == nullptr) return "any";
  if (const Json* items = schema.find("items")) return "list: " + TypeText(*items);
  const Json* entries = schema.find("additionalProperties");
  if (entries != nullptr && entries->as_object() != nullptr) return "by name: " + TypeText(*entries);
  return *type->as_string() == "boolean" ? "true or false" : *type->as_string();
}

std::string WordsText(const Json& schema) {
  std::string text;
  if (const Json* words = schema.find("enum")) {
    for (const Json& word : *words->as_array()) text += (text.empty() ? "; one of `" : ", `") + *word.as_string() + "`";
  }
  return text;
}

void AddRows(const Json& object, const std::string& prefix, const std::string& path,
             const std::vector<std::string>& elsewhere, std::string& text) {
  const Json* required = object.find("required");
  for (const auto& [key, field] : *object.find("properties")->as_object()) {
    const bool is_required =
        required != nullptr && std::ranges::find(*required->as_array(), Json(key)) != required->as_array()->end();
    text += "| `" + prefix + key + "` | " + TypeText(field) + (is_required ? "" : ", optional") + " | " +
            *field.find("description")->as_string() + WordsText(field) + " |\n";
    const std::string own_path = (path.empty() ? "" : path + ".") + key;
    const bool is_elsewhere = std::ranges::find(elsewhere, own_path) != elsewhere.end();
    if (field.find("properties") != nullptr && !is_elsewhere) {
      AddRows(field, prefix + key + ".", own_path, elsewhere, text);
    }
  }
}

}  // namespace

Json SchemaBy(const std::function<void(FieldVisitor&)>& fields) { return FieldDescriber().Describe(fields); }

std::string SchemaText(const Json& schema) { return Laid(schema, 0, 0) + "\n"; }

std::string LatestSince(const Json& schema) {
  std::string latest;
  if (const Json* description = schema.find("description"); description != nullptr && description->as_string()) {
    const std::string& text = *description->as_string();
    const size_t at = text.find("(since ");
    if (at != std::string::npos) latest = text.substr(at + 7, text.find(')', at) - at - 7);
  }
  const auto consider = [&](const Json& inner) {
    const std::string since = LatestSince(inner);
    if (since.size() > latest.size() || (since.size() == latest.size() && since > latest)) latest = since;
  };
  if (const Json::Object* object = schema.as_object()) {
    for (const auto& [key, value] : *object) consider(value);
  }
  return latest;
}

std::string FieldTable(const Json& schema, const std::string& path, const std::vector<std::string>& elsewhere) {
  std::string text = "| field | type | meaning |\n|---|---|---|\n";
  AddRows(At(schema, path), "", path, elsewhere, text);
  return text;
}

std::string RenewedPage(const std::string& page, const std::function<const Json&(const std::string&)>& schema_of) {
  std::vector<std::pair<std::string, std::string>> marks;  // name and path
  for (size_t at = page.find(kBegin); at != std::string::npos; at = page.find(kBegin, at + 1)) {
    std::istringstream words(page.substr(at + kBegin.size(), page.find(" -->", at) - at - kBegin.size()));
    std::string name, path;
    words >> name >> path;
    marks.emplace_back(name, path);
  }
  std::string text;
  size_t done = 0;
  for (const auto& [name, path] : marks) {
    const size_t begin = page.find('\n', page.find(kBegin, done)) + 1, end = page.find(kEnd, begin);
    std::vector<std::string> elsewhere;
    for (const auto& [other, other_path] : marks) {
      if (other == name) elsewhere.push_back(other_path);
    }
    text += page.substr(done, begin - done) + "\n" + FieldTable(schema_of(name), path, elsewhere) + "\n";
    done = std::min(end, page.size());
  }
  return text + page.substr(done);
}

}  // namespace pt::testing
