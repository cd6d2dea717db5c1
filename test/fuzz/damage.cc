#include "test/fuzz/damage.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "partitiontuner/support/json.h"
#include "test/testing/json_places.h"

namespace pt::testing {
namespace {

constexpr double kNumbers[] = {0, 1, -1, 0.5, 2, 1e-300, 1e300, -1e9, 2147483647, 2147483648, 9007199254740992};

void Collect(Json& value, Json* parent, size_t index, std::vector<JsonPlace>& places) {
  places.push_back({&value, parent, index});
  if (value.as_array() != nullptr) {
    for (size_t i = 0; i < ItemsOf(value).size(); ++i) Collect(ItemsOf(value)[i], &value, i, places);
  } else if (value.as_object() != nullptr) {
    for (size_t i = 0; i < PairsOf(value).size(); ++i) Collect(PairsOf(value)[i].second, &value, i, places);
  }
}

Json OtherValue(const std::vector<JsonPlace>& places, Random& random) {
  switch (random.Below(6)) {
    case 0:
      return kNumbers[random.Below(std::size(kNumbers))];
    case 1:
      return static_cast<int64_t>(random.Below(2) == 0 ? random.Below(16) : random.Next());
    case 2:
      return random.Below(2) == 0 ? Json() : Json(random.Below(2) == 0);
    case 3:
      return random.Below(2) == 0 ? Json::MakeArray() : Json::MakeObject();
    default:
      return *places[random.Below(places.size())].value;
  }
}

void Erase(const JsonPlace& place) {
  if (place.parent->as_array() != nullptr) {
    ItemsOf(*place.parent).erase(ItemsOf(*place.parent).begin() + static_cast<ptrdiff_t>(place.index));
  } else {
    PairsOf(*place.parent).erase(PairsOf(*place.parent).begin() + static_cast<ptrdiff_t>(place.index));
  }
}

}  // namespace

std::string DamageJson(const std::string& text, Random& random) {
  Result<Json> json = ParseJson(text, "text");
  if (!json.ok()) return "";
  std::vector<JsonPlace> places;
  Collect(*json, nullptr, 0, places);
  const JsonPlace place = places[random.Below(places.size())];
  const uint64_t how = random.Below(6);
  if (how == 0 && place.parent != nullptr) {
    Erase(place);
  } else if (how == 1 && place.parent != nullptr && place.parent->as_array() != nullptr) {
    Json::Array& items = ItemsOf(*place.parent);
    const Json copy = items[place.index];
    items.insert(items.begin() + static_cast<ptrdiff_t>(random.Below(items.size() + 1)), copy);
  } else if (how == 2 && place.value->as_int() != nullptr) {
    *place.value = static_cast<int64_t>(static_cast<uint64_t>(*place.value->as_int()) + random.Below(5) - 2);
  } else {
    Json other = OtherValue(places, random);
    *place.value = std::move(other);
  }
  return WriteJson(*json, -1);
}

std::string DamageBytes(std::string bytes, Random& random) {
  if (bytes.empty()) return std::string(1, static_cast<char>(random.Next()));
  const size_t at = random.Below(bytes.size()), length = std::min(bytes.size() - at, size_t{1} + random.Below(8));
  switch (random.Below(5)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(random.Next());
      break;
    case 2:
      bytes.erase(at, length);
      break;
    case 3:
      bytes.insert(random.Below(bytes.size()), bytes.substr(at, length));
      break;
    default:
      bytes.resize(at);
  }
  return bytes;
}

}  // namespace pt::testing
