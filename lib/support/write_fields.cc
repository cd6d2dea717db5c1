#include <utility>

#include "lib/support/field_faults.h"

namespace pt {
namespace {

bool IsLeftOut(const FieldNote& note, bool is_absent) {
  return is_absent &&
         (note.presence == FieldNote::Presence::kOptional || note.presence == FieldNote::Presence::kForPeople);
}

class FieldWriter final : public FieldVisitor {
 public:
  FieldWriter() : FieldVisitor(Purpose::kWrite) {}

  Json Write(const std::function<void(FieldVisitor&)>& fields) {
    VisitObject([&] { fields(*this); });
    return std::move(value_);
  }

  void Closed() override {}
  void ErrorsAre(std::string_view) override {}
  bool Has(std::string_view) const override { return false; }
  std::optional<size_t> CountOf(std::string_view, size_t own) const override { return own; }
  void Fail(const std::string&, std::string_view, ErrorCode, std::string_view) override {}

 private:
  bool Enter(std::string_view key, const FieldNote& note, bool is_absent) override {
    if (IsLeftOut(note, is_absent)) return false;
    keys_.emplace_back(key);
    return true;
  }
  void Leave() override {
    object_.Set(std::move(keys_.back()), std::move(value_));
    keys_.pop_back();
  }

  void Bool(bool& value) override { value_ = Json(value); }
  void Integer(int64_t& value, const FieldNote&) override { value_ = Json(value); }
  void Unsigned(uint64_t& value, uint64_t, const FieldNote&) override { value_ = Json(value); }
  void Number(double& value, const FieldNote&) override { value_ = Json(value); }
  void Text(std::string& value, const FieldNote&) override { value_ = Json(value); }
  void Index(uint32_t& value, const FieldNote&) override { value_ = Json(value); }
  void Any(Json& value) override { value_ = value; }

  void VisitObject(const std::function<void()>& fields) override {
    Json outer = std::exchange(object_, Json::MakeObject());
    fields();
    value_ = std::exchange(object_, std::move(outer));
  }
  void VisitList(size_t size, const FieldNote&, const std::function<void(size_t)>& item) override {
    Json::Array items;
    items.reserve(size);
    for (size_t i = 0; i < size; ++i) {
      item(i);
      items.push_back(std::move(value_));
    }
    value_ = Json(std::move(items));
  }
  void VisitEntries(const std::vector<std::string>& names,
                    const std::function<void(const std::string&)>& entry) override {
    Json::Object entries;
    for (const std::string& name : names) {
      entry(name);
      entries.emplace_back(name, std::move(value_));
    }
    value_ = Json(std::move(entries));
  }

  Json value_;   // made last
  Json object_;  // that the fields at hand belong to
  std::vector<std::string> keys_;
};

// Goes through a struct in memory as a writer would, and keeps the first fault.
class FieldChecker final : public FieldVisitor {
 public:
  FieldChecker() : FieldVisitor(Purpose::kWrite) {}

  std::string fault;

  void Closed() override {}
  void ErrorsAre(std::string_view) override {}
  bool Has(std::string_view) const override { return false; }
  std::optional<size_t> CountOf(std::string_view, size_t own) const override { return own; }
  void Fail(const std::string&, std::string_view, ErrorCode, std::string_view) override {}

 private:
  bool Enter(std::string_view key, const FieldNote& note, bool is_absent) override {
    key_ = key;
    return fault.empty() && !IsLeftOut(note, is_absent);
  }
  void Leave() override {}

  void Keep(std::string found) {
    if (fault.empty()) fault = std::move(found);
  }

  void Bool(bool&) override {}
  void Integer(int64_t& value, const FieldNote& note) override {
    Keep(RangeFault(key_, static_cast<double>(value), note));
  }
  void Unsigned(uint64_t& value, uint64_t, const FieldNote& note) override {
    Keep(RangeFault(key_, static_cast<double>(value), note));
  }
  void Number(double& value, const FieldNote& note) override { Keep(RangeFault(key_, value, note)); }
  void Text(std::string& value, const FieldNote& note) override {
    Keep(EmptyFault(key_, value.size(), note));
    Keep(WordFault(key_, value, note));
  }
  void Index(uint32_t&, const FieldNote&) override {}
  void Any(Json&) override {}
  void VisitObject(const std::function<void()>& fields) override { fields(); }
  void VisitList(size_t size, const FieldNote& note, const std::function<void(size_t)>& item) override {
    Keep(EmptyFault(key_, size, note));
    for (size_t i = 0; i < size; ++i) item(i);
  }
  void VisitEntries(const std::vector<std::string>& names,
                    const std::function<void(const std::string&)>& entry) override {
    for (const std::string& name : names) entry(name);
  }

  std::string key_;
};

}  // namespace

Json WriteFieldsBy(const std::function<void(FieldVisitor&)>& fields) { return FieldWriter().Write(fields); }

std::string FieldFaultBy(const std::function<void(FieldVisitor&)>& fields) {
  FieldChecker checker;
  fields(checker);
  return std::move(checker.fault);
}

}  // namespace pt
