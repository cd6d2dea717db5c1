#include <algorithm>
#include <utility>

#include "lib/support/field_faults.h"

namespace pt {
namespace {

constexpr size_t kNoIndex = std::numeric_limits<size_t>::max();

class FieldReader final : public FieldVisitor {
 public:
  FieldReader(const Json& json, const FieldSource& source) : FieldVisitor(Purpose::kRead), source_(source) {
    frames_.push_back({&json, {}, kNoIndex});
  }

  Status Read(const std::function<void(FieldVisitor&)>& fields) {
    VisitObject([&] { fields(*this); });
    return failed_ ? Status(std::move(error_)) : Status();
  }

  void Closed() override { objects_.back().closed = true; }
  void ErrorsAre(std::string_view id) override { objects_.back().error = id; }
  bool Has(std::string_view key) const override { return top().json->find(key) != nullptr; }
  std::optional<size_t> CountOf(std::string_view key, size_t) const override {
    const Json* list = top().json->find(key);
    if (list == nullptr || list->as_array() == nullptr) return std::nullopt;
    return list->as_array()->size();
  }
  void Fail(const std::string& message, std::string_view id, ErrorCode code, std::string_view hint) override {
    Refuse(MakeError(code, id.empty() ? ContentError() : std::string(id), Path(frames_.size() - 1) + ": " + message,
                     std::string(hint)));
  }

 private:
  // A value on the way from the whole to the one at hand: by its key in an object, or by its index in a list.
  struct Frame {
    const Json* json;
    std::string_view key;
    size_t index;
  };
  struct OpenObject {
    bool closed = false;
    std::string_view error;         // of content; empty = that of the object around
    std::vector<std::string> keys;  // that were visited, where it is closed
  };

  const Frame& top() const { return frames_.back(); }

  void Refuse(Error error) {
    if (failed_) return;
    error_ = std::move(error);
    failed_ = true;
    failed_in_ = objects_.size();
  }

  std::string ContentError() const {
    for (size_t i = objects_.size(); i > 0; --i) {
      if (!objects_[i - 1].error.empty()) return std::string(objects_[i - 1].error);
    }
    return source_.error;
  }

  std::string Path(size_t frame) const {
    if (frame == 0) return source_.where;
    std::string path;
    for (size_t i = 1; i <= frame; ++i) {
      if (frames_[i].index != kNoIndex) {
        path += "[" + std::to_string(frames_[i].index) + "]";
      } else {
        path += (path.empty() ? "" : ".") + std::string(frames_[i].key);
      }
    }
    return source_.below + path;
  }

  // The key that the value at hand belongs to, and the object that holds it: of an item, those of its list.
  size_t Keyed() const { return top().index == kNoIndex ? frames_.size() - 1 : frames_.size() - 2; }
  std::string_view key() const { return frames_[Keyed()].key; }
  bool is_item() const { return top().index != kNoIndex; }
  std::string Holder() const { return Path(Keyed() - 1); }

  void RefuseContent(const std::string& fault) {
    if (fault.empty()) return;
    Refuse(MakeError(ErrorCode::kInvalidInput, ContentError(), Holder() + ": " + fault));
  }
  void RefuseRange(double value, const FieldNote& note) {
    if (RangeFault(key(), value, note).empty()) return;
    RefuseContent(RangeFault(key(), value, note, WriteJson(*top().json, -1)));
  }
  void RefuseStructure(const std::string& message) {
    Refuse(MakeError(ErrorCode::kInvalidInput, "json.field", message));
  }
  // "is not WHAT" of the value at hand.
  void RefuseType(const std::string& what) {
    if (is_item()) {
      RefuseContent(std::string(key()) + " holds " + WriteJson(*top().json, -1) + ", which is not " + what);
    } else {
      RefuseStructure(Holder() + ": \"" + std::string(key()) + "\" is not " + what);
    }
  }

  bool Enter(std::string_view key, const FieldNote& note, bool) override {
    if (objects_.back().closed) objects_.back().keys.emplace_back(key);
    if (failed_ || note.presence == FieldNote::Presence::kForPeople) return false;
    const Json* json = top().json->find(key);
    if (json == nullptr) {
      if (note.presence == FieldNote::Presence::kRequired) {
        RefuseStructure(Path(frames_.size() - 1) + ": \"" + std::string(key) + "\" is missing");
      }
      return false;
    }
    frames_.push_back({json, key, kNoIndex});
    return true;
  }
  void Leave() override { frames_.pop_back(); }

  void Bool(bool& value) override {
    const bool* read = top().json->as_bool();
    if (read == nullptr) return RefuseType("true or false");
    value = *read;
  }
  void Integer(int64_t& value, const FieldNote& note) override {
    const int64_t* read = top().json->as_int();
    if (read == nullptr) return RefuseType("an integer");
    value = *read;
    RefuseRange(static_cast<double>(value), note);
  }
  void Unsigned(uint64_t& value, uint64_t most, const FieldNote& note) override {
    if (!ReadUnsigned(value, note)) return;
    RefuseContent(LargeFault(key(), value, most));
    RefuseRange(static_cast<double>(value), note);
  }
  void Index(uint32_t& value, const FieldNote& note) override {
    const uint64_t count = note.count.value_or(StrongId<void>::kNone);
    if (is_item()) {
      const int64_t* read = top().json->as_int();
      if (read == nullptr || *read < 0 || static_cast<uint64_t>(*read) >= count) {
        return RefuseType("an index" + (note.count ? " below " + std::to_string(count) : std::string()));
      }
      value = static_cast<uint32_t>(*read);
      return;
    }
    uint64_t read = 0;
    if (!ReadUnsigned(read, note)) return;
    if (read >= count) {
      return RefuseContent(std::string(key()) + " is " + std::to_string(read) +
                           (note.count ? ", there are " + std::to_string(count) : ", which is not an index"));
    }
    value = static_cast<uint32_t>(read);
  }
  void Number(double& value, const FieldNote& note) override {
    const std::optional<double> read = top().json->as_number();
    if (!read) return RefuseType("a number");
    value = *read;
    RefuseRange(value, note);
  }
  void Text(std::string& value, const FieldNote& note) override {
    const std::string* read = top().json->as_string();
    if (read == nullptr) return RefuseType("a string");
    value = *read;
    RefuseContent(EmptyFault(key(), value.size(), note));
    RefuseContent(WordFault(key(), value, note));
  }
  void Any(Json& value) override { value = *top().json; }

  void VisitObject(const std::function<void()>& fields) override {
    if (failed_) return;
    if (top().json->as_object() == nullptr) {
      if (frames_.size() > 1 && !is_item()) return RefuseType("an object");
      return RefuseStructure(Path(frames_.size() - 1) + " is not an object");
    }
    objects_.emplace_back();
    fields();
    // A key that is misspelt is also missing; which one it is says more.
    if (objects_.back().closed && (!failed_ || failed_in_ == objects_.size())) RefuseUnknownKeys();
    objects_.pop_back();
  }
  void VisitList(size_t, const FieldNote& note, const std::function<void(size_t)>& item) override {
    if (failed_) return;
    const Json::Array* items = top().json->as_array();
    if (items == nullptr) return RefuseType("an array");
    RefuseContent(EmptyFault(key(), items->size(), note));
    for (size_t i = 0; i < items->size() && !failed_; ++i) {
      frames_.push_back({&(*items)[i], {}, i});
      item(i);
      frames_.pop_back();
    }
  }
  void VisitEntries(const std::vector<std::string>&, const std::function<void(const std::string&)>& entry) override {
    if (failed_) return;
    const Json::Object* entries = top().json->as_object();
    if (entries == nullptr) return RefuseType("an object");
    for (const auto& [name, value] : *entries) {
      if (failed_) return;
      frames_.push_back({&value, name, kNoIndex});
      entry(name);
      frames_.pop_back();
    }
  }

  // False where it is not a number of at least 0. Of a field with a range, the range says what is wrong.
  bool ReadUnsigned(uint64_t& value, const FieldNote& note) {
    const int64_t* read = top().json->as_int();
    if (read == nullptr) return RefuseType("an integer"), false;
    value = static_cast<uint64_t>(*read);
    if (*read >= 0) return true;
    if (!note.range.fault.empty()) {
      RefuseRange(static_cast<double>(*read), note);
    } else if (is_item()) {
      RefuseType("an integer of at least 0");
    } else {
      RefuseStructure(Holder() + ": \"" + std::string(key()) + "\" is " + std::to_string(*read) + ", below 0");
    }
    return false;
  }

  void RefuseUnknownKeys() {
    const std::vector<std::string>& known = objects_.back().keys;
    for (const auto& [key, value] : *top().json->as_object()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      std::string names;
      for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
      failed_ = false;
      return Fail("unknown key '" + key + "'", {}, ErrorCode::kInvalidInput, "known are " + names);
    }
  }

  const FieldSource& source_;
  std::vector<Frame> frames_;
  std::vector<OpenObject> objects_;
  Error error_;
  size_t failed_in_ = 0;  // how many objects were open when it failed
};

}  // namespace

Status ReadFieldsBy(const Json& json, const FieldSource& source, const std::function<void(FieldVisitor&)>& fields) {
  return FieldReader(json, source).Read(fields);
}

}  // namespace pt
