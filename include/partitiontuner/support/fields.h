// Fields: how a struct is written as JSON, said once. Each serialised struct has one function, found by its argument
// (so it belongs to the struct's namespace, not to an unnamed one):
//
//   void Fields(FieldVisitor& v, Resource& resource) {
//     v.Field("name", resource.name, "what the machine calls it");
//     v.Field("capacity", resource.capacity, "1 where one unit at a time may use it");
//     v.Field("core", resource.core, FieldNote("the host core that it is").Optional());
//   }
//
// and whatever is to be done with the struct visits it: the reader and the writer here, and the test that makes the
// schemas and the tables of the pages. The order of the calls is the order of the keys in a file.
//
// A member is of type bool, int64_t, uint64_t, uint32_t, double, float, std::string, StrongId, Json (any value as it
// is), a struct with Fields, or std::optional, std::vector or std::map<std::string, …> of these. The other methods are
// for what is written in another form than it has in memory. Members hold their defaults before they are read. A
// visitor belongs to one thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "partitiontuner/support/json.h"
#include "partitiontuner/support/result.h"
#include "partitiontuner/support/strong_id.h"

namespace pt {

// What a number may be. `fault` is said of another one, with {key} and {value} put in.
struct FieldRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string_view fault = {};
};
inline constexpr FieldRange kNotNegative = {0, std::numeric_limits<double>::infinity(), "{key} is negative"};

// What is said of a field beside its key and its type. All texts must outlive the note.
struct FieldNote {
  enum class Presence : uint8_t {
    kRequired,       // in every file
    kOptional,       // left out where the member has its default, which it keeps where a file lacks the key
    kAlwaysWritten,  // written always; the member keeps its default where a file lacks the key
    kForPeople,      // like kOptional, and never read
  };

  FieldNote(const char* what) : meaning(what) {}

  FieldNote& Optional() { return presence = Presence::kOptional, *this; }
  FieldNote& AlwaysWritten() { return presence = Presence::kAlwaysWritten, *this; }
  FieldNote& ForPeople() { return presence = Presence::kForPeople, *this; }
  FieldNote& Since(std::string_view version) { return since = version, *this; }
  FieldNote& Within(const FieldRange& allowed) { return range = allowed, *this; }
  FieldNote& Below(std::optional<size_t> ids) { return count = ids, *this; }
  FieldNote& OneOf(std::span<const std::string_view> known) { return words = known, *this; }
  FieldNote& Matching(std::string_view expression) { return pattern = expression, *this; }
  FieldNote& NotEmpty(std::string_view fault = "{key} is empty") { return empty_fault = fault, *this; }

  std::string_view meaning;  // a phrase for the schema and the page
  std::string_view since;    // the version of the format that brought the key; empty = the first one
  Presence presence = Presence::kRequired;
  FieldRange range;                         // of numbers, or of each one within
  std::optional<size_t> count;              // of ids: how many there are
  std::span<const std::string_view> words;  // of texts: all that are known; empty = any
  std::string_view pattern;                 // of texts, for schemas alone: readers say better what is wrong
  std::string_view empty_fault;             // of texts and lists: said of an empty one; empty = may be empty
};

// What a `Fields` function is called with: a reader, a writer, or what describes the struct.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;

  // Members are being filled from a file, and nothing was wrong so far: the time to convert and to check.
  bool reads() const { return purpose_ == Purpose::kRead && !failed_; }
  // Members are looked at and must not be changed.
  bool writes() const { return purpose_ == Purpose::kWrite; }
  // Neither: what could be in a file is listed, over members that hold nothing.
  bool describes() const { return purpose_ == Purpose::kDescribe; }

  // `otherwise` is the default of an optional member: what it is before it is read.
  template <typename T>
  void Field(std::string_view key, T& member, const FieldNote& note, const std::type_identity_t<T>& otherwise = T()) {
    if (!Enter(key, note, IsAbsent(member, otherwise))) return;
    Value(member, note);
    Leave();
  }

  // A value of an enumeration by its name: `values` are all of them, name_of(value) is a std::string_view.
  template <typename Values, typename Name>
  void Word(std::string_view key, typename Values::value_type& member, const Values& values, Name name_of,
            const FieldNote& note) {
    std::vector<std::string_view> names;
    for (const auto& value : values) names.push_back(name_of(value));
    std::string name = writes() ? std::string(name_of(member)) : std::string();
    Field(key, name, FieldNote(note).OneOf(names));
    for (size_t i = 0; reads() && i < names.size(); ++i) {
      if (names[i] == name) member = values[i];
    }
  }

  // An object that is not a struct of its own, or one whose Fields ask for more than the struct: fields() visits it.
  template <typename F>
  void Object(std::string_view key, const FieldNote& note, F fields, bool is_absent = false) {
    if (!Enter(key, note, is_absent)) return;
    VisitObject(fields);
    Leave();
  }

  // A list of objects: fields(item, index) visits each.
  template <typename T, typename F>
  void Objects(std::string_view key, std::vector<T>& items, const FieldNote& note, F fields) {
    if (!Enter(key, note, items.empty())) return;
    VisitList(items.size(), note, [&](size_t i) {
      T fresh{};
      T& item = writes() ? items[i] : fresh;
      VisitObject([&] { fields(item, i); });
      if (reads()) items.push_back(std::move(fresh));
    });
    Leave();
  }

  // A map as a list of objects, each of which says its key: fields(key, value). `repeated` is said of an object whose
  // key came before (with `repeated_id` as in Fail).
  template <typename K, typename T, typename F>
  void Rows(std::string_view key, std::map<K, T>& rows, const FieldNote& note, std::string_view repeated, F fields,
            std::string_view repeated_id = {}) {
    if (!Enter(key, note, rows.empty())) return;
    auto written = rows.begin();
    VisitList(rows.size(), note, [&](size_t) {
      K row = writes() ? written->first : K();
      T fresh{};
      T& value = writes() ? (written++)->second : fresh;
      VisitObject([&] { fields(row, value); });
      if (reads() && !rows.emplace(row, std::move(fresh)).second) Fail(std::string(repeated), repeated_id);
    });
    Leave();
  }

  // An object with an entry for each name: value(name) visits what it holds. `names` are those to be written.
  template <typename F>
  void Entries(std::string_view key, const std::vector<std::string>& names, const FieldNote& note, F value) {
    if (!Enter(key, note, names.empty())) return;
    VisitEntries(names, value);
    Leave();
  }

  // Fields that are there in some case alone; `when` says in which one ("copy, reorder").
  template <typename F>
  void Only(std::string_view when, bool applies, F fields) {
    if (!applies && !describes()) return;
    BeginCase(when);
    fields();
    EndCase();
  }
  // Fields that are there exactly where the optional field `key` is not; that one comes before.
  template <typename F>
  void Unless(std::string_view key, bool is_there, F fields) {
    if (is_there && !describes()) return;
    BeginAlternative(key);
    fields();
    EndAlternative();
  }

  // For the object at hand, before its fields: a key that is not visited is refused. Without it, such keys are ignored.
  // All of its keys are to be visited then, even after an error, which would have them taken for unknown.
  virtual void Closed() = 0;
  // For the object at hand and within it: the id of errors of content, instead of the format's own. `id` must outlive
  // the visitor.
  virtual void ErrorsAre(std::string_view id) = 0;
  // Reading: the key is there. Otherwise false.
  virtual bool Has(std::string_view key) const = 0;
  // Reading: how many items the list of that key has; empty where it is absent, which its own field says. Otherwise
  // `own`.
  virtual std::optional<size_t> CountOf(std::string_view key, size_t own) const = 0;
  // Reading: refuses the file, with the place of the object at hand before the message. The first error stays; nothing
  // is read after it. `id` instead of the format's own. Otherwise nothing happens.
  virtual void Fail(const std::string& message, std::string_view id = {}, ErrorCode code = ErrorCode::kInvalidInput,
                    std::string_view hint = {}) = 0;

  // One value alone, without key or list: for the lambdas of Entries.
  template <typename T>
  void Value(T& value, const FieldNote& note) {
    if constexpr (std::is_same_v<T, bool>) {
      Bool(value);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      Integer(value, note);
    } else if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, uint32_t>) {
      uint64_t number = value;
      Unsigned(number, std::numeric_limits<T>::max(), note);
      if (reads()) value = static_cast<T>(number);
    } else if constexpr (std::is_floating_point_v<T>) {
      double number = value;
      Number(number, note);
      if (reads()) value = static_cast<T>(number);
    } else if constexpr (std::is_same_v<T, std::string>) {
      Text(value, note);
    } else if constexpr (std::is_same_v<T, Json>) {
      Any(value);
    } else {
      Part(value, note);
    }
  }

 protected:
  enum class Purpose : uint8_t { kRead, kWrite, kDescribe };
  explicit FieldVisitor(Purpose purpose) : purpose_(purpose) {}

  // False: the field is not to be visited. After true, one value and Leave.
  virtual bool Enter(std::string_view key, const FieldNote& note, bool is_absent) = 0;
  virtual void Leave() = 0;

  virtual void Bool(bool& value) = 0;
  virtual void Integer(int64_t& value, const FieldNote& note) = 0;
  virtual void Unsigned(uint64_t& value, uint64_t most, const FieldNote& note) = 0;
  virtual void Number(double& value, const FieldNote& note) = 0;
  virtual void Text(std::string& value, const FieldNote& note) = 0;
  virtual void Index(uint32_t& value, const FieldNote& note) = 0;
  virtual void Any(Json& value) = 0;
  virtual void VisitObject(const std::function<void()>& fields) = 0;
  // Calls item(i) in order: `size` times for what is written, once for a description.
  virtual void VisitList(size_t size, const FieldNote& note, const std::function<void(size_t)>& item) = 0;
  virtual void VisitEntries(const std::vector<std::string>& names,
                            const std::function<void(const std::string&)>& entry) = 0;

  virtual void BeginCase(std::string_view) {}
  virtual void EndCase() {}
  virtual void BeginAlternative(std::string_view) {}
  virtual void EndAlternative() {}

  bool failed_ = false;

 private:
  template <typename T>
  static bool IsAbsent(const T& member, const T& otherwise) {
    if constexpr (requires {
                    { member == otherwise } -> std::convertible_to<bool>;
                  })
      return member == otherwise;
    return false;
  }
  template <typename T>
  static bool IsAbsent(const std::vector<T>& member, const std::vector<T>&) {
    return member.empty();
  }
  template <typename T>
  static bool IsAbsent(const std::map<std::string, T>& member, const std::map<std::string, T>&) {
    return member.empty();
  }
  template <typename T>
  static bool IsAbsent(const std::optional<T>& member, const std::optional<T>&) {
    return !member.has_value();
  }

  template <typename Tag>
  void Part(StrongId<Tag>& id, const FieldNote& note) {
    Index(id.value, note);
  }
  template <typename T>
  void Part(std::optional<T>& value, const FieldNote& note) {
    if (!writes()) value.emplace();
    Value(*value, note);
  }
  template <typename T>
  void Part(std::vector<T>& items, const FieldNote& note) {
    const FieldNote item = FieldNote(note).NotEmpty({});  // the list must not be empty
    VisitList(items.size(), note, [&](size_t i) {
      if (writes()) return Value(items[i], item);
      T fresh{};
      Value(fresh, item);
      if (reads()) items.push_back(std::move(fresh));
    });
  }
  template <typename T>
  void Part(std::map<std::string, T>& entries, const FieldNote& note) {
    std::vector<std::string> names;
    for (const auto& [name, value] : entries) names.push_back(name);
    VisitEntries(names, [&](const std::string& name) {
      if (writes()) return Value(entries.at(name), note);
      T fresh{};
      Value(fresh, note);
      if (reads()) entries.emplace(name, std::move(fresh));
    });
  }
  template <typename T>
  void Part(T& value, const FieldNote&) {
    VisitObject([&] { Fields(*this, value); });
  }

  const Purpose purpose_;
};

// Where a struct is read from, for messages: `where` names the whole ("model.ptplan.json"), and what lies within is
// named by its path after `below` ("model.ptplan.json: " + "steps[3]"). `error` is the id of errors of content; those
// of structure (missing keys, wrong types) have "json.field".
struct FieldSource {
  std::string where, below;
  std::string error;
};
inline FieldSource FileSource(std::string_view what, std::string_view error) {
  return {std::string(what), std::string(what) + ": ", std::string(error)};
}

// fields(visitor) visits the members. Errors: kInvalidInput, or what Fail was given.
Status ReadFieldsBy(const Json& json, const FieldSource& source, const std::function<void(FieldVisitor&)>& fields);
Json WriteFieldsBy(const std::function<void(FieldVisitor&)>& fields);
// What the ranges and the known words of its fields say is wrong with the struct; empty when nothing is.
std::string FieldFaultBy(const std::function<void(FieldVisitor&)>& fields);

// The same of a struct, whose Fields also take what is in `context`. After an error `to` is of no use.
template <typename T, typename... Context>
Status ReadFields(const Json& json, const FieldSource& source, T& to, const Context&... context) {
  return ReadFieldsBy(json, source, [&](FieldVisitor& v) { Fields(v, to, context...); });
}
template <typename T, typename... Context>
Json WriteFields(const T& from, const Context&... context) {
  // Fields take what they may fill; they change nothing while writes().
  return WriteFieldsBy([&](FieldVisitor& v) { Fields(v, const_cast<T&>(from), context...); });
}
template <typename T, typename... Context>
std::string FieldFault(const T& of, const Context&... context) {
  return FieldFaultBy([&](FieldVisitor& v) { Fields(v, const_cast<T&>(of), context...); });
}

}  // namespace pt
