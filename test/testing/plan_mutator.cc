#include "test/testing/plan_mutator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "test/testing/json_places.h"

namespace pt::testing {
namespace {

constexpr std::array<const char*, 16> kWords = {
    "",        "none", "view_of_input", "slices_of_output", "allowed",   "required", "bf16",     "fp32", "float16",
    "float32", "abcd", "acdb",          "aBcd16b",          "reference", "onednn",   "simulated"};

class Mutator {
 public:
  Mutator(Json& plan, std::mt19937_64& random) : plan_(plan), random_(random) {}

  std::string Run() {
    Collect(plan_, nullptr, 0, "");
    // The parts that decide what runs come more often than those that only tell, and what lets bytes be shared most.
    static constexpr std::array<const char*, 14> kParts = {"candidates",
                                                           "candidates",
                                                           "candidates[].elision",
                                                           "candidates[].aliases",
                                                           "instances",
                                                           "instances",
                                                           "steps",
                                                           "steps",
                                                           "steps",
                                                           "memory",
                                                           "memory",
                                                           "made_for",
                                                           "report",
                                                           ""};
    const std::string part = "." + std::string(Pick(kParts));
    std::vector<const std::string*> kinds;
    for (const auto& [kind, sites] : sites_) {
      if (kind.starts_with(part)) kinds.push_back(&kind);
    }
    if (kinds.empty()) return part + " is lost already";
    kind_ = *Pick(kinds);
    const JsonPlace site = Pick(sites_.at(kind_));
    const std::string before = Short(*site.value);
    const std::string how = Change(site);
    return kind_ + " " + before + " " + how;
  }

 private:
  void Collect(Json& value, Json* parent, size_t index, const std::string& kind) {
    if (parent != nullptr) sites_[kind].push_back({&value, parent, index});
    if (value.as_array() != nullptr) {
      for (size_t i = 0; i < ItemsOf(value).size(); ++i) Collect(ItemsOf(value)[i], &value, i, kind + "[]");
    } else if (value.as_object() != nullptr) {
      for (size_t i = 0; i < PairsOf(value).size(); ++i) {
        Collect(PairsOf(value)[i].second, &value, i, kind + "." + PairsOf(value)[i].first);
      }
    }
  }

  template <typename Items>
  const typename Items::value_type& Pick(const Items& items) {
    return items[random_() % items.size()];
  }

  // A changed value leaves its array or object as it was; without it, so does the array or object.
  std::string Change(const JsonPlace& site) {
    if (random_() % 12 == 0) return Retype(site);
    if (site.parent->as_array() != nullptr && random_() % 3 == 0) return ChangeArray(*site.parent, site.index);
    if (site.parent->as_object() != nullptr && random_() % 12 == 0) {
      PairsOf(*site.parent).erase(PairsOf(*site.parent).begin() + static_cast<std::ptrdiff_t>(site.index));
      return "is gone";
    }
    if (const int64_t* number = site.value->as_int()) return Become(site, OtherNumber(*number));
    if (const std::string* text = site.value->as_string()) return Become(site, OtherText(*text));
    if (const bool* flag = site.value->as_bool()) return Become(site, Json(!*flag));
    if (const std::optional<double> number = site.value->as_number()) return Become(site, OtherFraction(*number));
    if (site.value->as_array() != nullptr && !ItemsOf(*site.value).empty()) {
      return ChangeArray(*site.value, random_() % ItemsOf(*site.value).size());
    }
    return Become(site, *Pick(sites_.at(kind_)).value);
  }

  std::string Become(const JsonPlace& site, Json value) {
    *site.value = std::move(value);
    return "became " + Short(*site.value);
  }

  Json OtherNumber(int64_t number) {
    const int64_t* same_kind = Pick(sites_.at(kind_)).value->as_int();
    const auto sum = [&](int64_t delta) {
      int64_t result = 0;
      return __builtin_add_overflow(number, delta, &result) ? number : result;
    };
    switch (random_() % 12) {
      case 0:
        return Json(sum(1));
      case 1:
        return Json(sum(-1));
      case 2:
        return Json(sum(64));
      case 3:
        return Json(sum(-64));
      case 4:
        return Json(int64_t{0});
      case 5:
        return Json(static_cast<int64_t>(random_() % 40));
      case 6:
        return Json(Pick(std::array{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
                                    int64_t{-1}, int64_t{UINT32_MAX}, int64_t{1} << 40}));
      case 7:
        return Json(sum(number));
      default:
        return same_kind != nullptr ? Json(*same_kind) : Json(sum(2));
    }
  }

  Json OtherText(std::string text) {
    const std::string* same_kind = Pick(sites_.at(kind_)).value->as_string();
    switch (random_() % 6) {
      case 0:
        return Json(Pick(kWords));
      case 1:
        return Json(text + text.substr(0, 1));
      case 2:
        if (text.empty()) return Json("x");
        text[random_() % text.size()] = static_cast<char>('a' + random_() % 26);
        return Json(std::move(text));
      case 3:
        if (!text.empty()) text.pop_back();
        return Json(std::move(text));
      default:
        return Json(same_kind != nullptr ? *same_kind : std::string());
    }
  }

  Json OtherFraction(double number) {
    return Json(Pick(std::array{-number, number * 2 + 0.5, 1e308, -1e308, 0.0, 1e-320}));
  }

  std::string ChangeArray(Json& array, size_t index) {
    Json::Array& items = ItemsOf(array);
    const auto at = items.begin() + static_cast<std::ptrdiff_t>(index);
    switch (random_() % 5) {
      case 0:
        items.erase(at);
        return "left its array";
      case 1: {
        Json copy = *at;
        items.insert(items.begin() + static_cast<std::ptrdiff_t>(random_() % (items.size() + 1)), std::move(copy));
        return "is there twice";
      }
      case 2: {
        const size_t other = random_() % items.size();
        std::swap(items[index], items[other]);
        return "changed places with its neighbour " + std::to_string(other);
      }
      case 3:
        items.clear();
        return "left its array with all others";
      default: {
        Json borrowed = *Pick(sites_.at(kind_)).value;
        items.push_back(std::move(borrowed));
        return "got a companion";
      }
    }
  }

  std::string Retype(const JsonPlace& site) {
    const std::vector<Json> others = {Json(),
                                      Json(true),
                                      Json(7),
                                      Json(0.5),
                                      Json("7"),
                                      Json::MakeArray(),
                                      Json::MakeObject(),
                                      Json(Json::Array{*site.value})};
    return Become(site, Pick(others));
  }

  static std::string Short(const Json& json) {
    std::string text = WriteJson(json, -1);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
  }

  Json& plan_;
  std::mt19937_64& random_;
  std::map<std::string, std::vector<JsonPlace>> sites_;  // by path without indices
  std::string kind_;
};

}  // namespace

std::string Mutate(Json& plan, std::mt19937_64& random) { return Mutator(plan, random).Run(); }

void DropNames(Json& plan) {
  if (plan.as_array() != nullptr) {
    for (Json& item : ItemsOf(plan)) DropNames(item);
  } else if (plan.as_object() != nullptr) {
    static constexpr std::array<std::string_view, 6> kNames = {"unit_name",       "device_name", "value_name",
                                                               "unit_class_name", "operator",    "source"};
    std::erase_if(PairsOf(plan),
                  [](const auto& pair) { return std::find(kNames.begin(), kNames.end(), pair.first) != kNames.end(); });
    // A step's nodes repeat those of its candidate.
    if (plan.find("work") != nullptr)
      std::erase_if(PairsOf(plan), [](const auto& pair) { return pair.first == "nodes"; });
    for (auto& [key, value] : PairsOf(plan)) DropNames(value);
  }
}

}  // namespace pt::testing
