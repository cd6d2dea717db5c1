#include <algorithm>
#include <limits>

#include "lib/platform/rates.h"
#include "partitiontuner/platform/platform.h"

namespace pt {
namespace {

Json RatesToJson(const SimulatedRates& rates) {
  Json json = Json::MakeObject();
  Json families = Json::MakeObject();
  for (const auto& [op, family] : rates.families) {
    Json row = Json::MakeObject();
    row.Set("fixed_ns", family.fixed_ns)
        .Set("flops_per_ns", family.flops_per_ns)
        .Set("bytes_per_ns", family.bytes_per_ns);
    if (family.demand != 1) row.Set("demand", family.demand);
    families.Set(op, std::move(row));
  }
  Json exact = Json::MakeObject();
  for (const auto& [signature, ns] : rates.exact_ns) exact.Set(signature, ns);
  Json unsupported = Json::MakeArray();
  for (const std::string& op : rates.unsupported) unsupported.Push(op);
  json.Set("families", std::move(families));
  json.Set("exact_ns", std::move(exact));
  json.Set("unsupported", std::move(unsupported));
  if (rates.call_ns != 0) json.Set("call_ns", rates.call_ns);
  if (rates.launches != SimulatedRates::Launches()) {
    Json launches = Json::MakeObject();
    launches.Set("step_ns", rates.launches.step_ns).Set("segment_ns", rates.launches.segment_ns);
    launches.Set("segment_step_ns", rates.launches.segment_step_ns);
    json.Set("launches", std::move(launches));
  }
  return json;
}

Json UnitToJson(const Platform& platform, const Unit& unit) {
  Json json = Json::MakeObject();
  json.Set("name", unit.name).Set("class", platform.unit_class(unit.unit_class).name);
  Json uses = Json::MakeArray();
  for (const auto& [resource, amount] : unit.uses) {
    Json use = Json::MakeObject();
    use.Set("resource", platform.resources[resource.index()].name).Set("amount", amount);
    uses.Push(std::move(use));
  }
  json.Set("uses", std::move(uses));
  if (unit.driver) json.Set("driver", platform.resources[unit.driver->index()].name);
  if (unit.link) {
    const Link& link = platform.link(*unit.link);
    json.Set("from", platform.device(link.from).name).Set("to", platform.device(link.to).name);
  }
  return json;
}

Error BadReference(std::string_view what, std::string_view where, std::string_view kind, std::string_view name) {
  return MakeError(ErrorCode::kInvalidInput, "platform.reference",
                   std::string(what) + ": " + std::string(where) + " names the " + std::string(kind) + " '" +
                       std::string(name) + "', which is not there");
}

// Reads one platform; `what` names the text in errors.
class Reader {
 public:
  Reader(const Json& json, std::string_view what) : json_(json), what_(what) {}

  Result<Platform> Read() {
    PT_CHECK_OK(ReadEach("devices", &Reader::ReadDevice));
    PT_CHECK_OK(ReadEach("resources", &Reader::ReadResource));
    PT_CHECK_OK(ReadEach("links", &Reader::ReadLink));
    PT_CHECK_OK(ReadEach("unit_classes", &Reader::ReadUnitClass));
    PT_CHECK_OK(ReadEach("units", &Reader::ReadUnit));
    if (const Json* simulated = json_.find("simulated"); simulated != nullptr) {
      const Json::Object* object = simulated->as_object();
      if (object == nullptr) return Bad("simulated", "is not an object");
      for (const auto& [name, rates] : *object) PT_CHECK_OK(ReadRates(name, rates));
    }
    if (Status status = CheckPlatform(platform_); !status.ok()) {
      Error error = std::move(status).error();
      error.message = std::string(what_) + ": " + error.message;
      return error;
    }
    return std::move(platform_);
  }

 private:
  using ReadItem = Status (Reader::*)(const Json&, const std::string&);

  Error Bad(std::string_view where, std::string_view why) const {
    return MakeError(ErrorCode::kInvalidInput, "platform.field",
                     std::string(what_) + ": " + std::string(where) + " " + std::string(why));
  }

  std::string Where(std::string_view list, size_t index) const {
    return std::string(what_) + ": " + std::string(list) + "[" + std::to_string(index) + "]";
  }

  Status ReadEach(std::string_view key, ReadItem read) {
    PT_ASSIGN(const Json::Array* items, JsonArray(json_, key, what_));
    for (size_t i = 0; i < items->size(); ++i) PT_CHECK_OK((this->*read)((*items)[i], Where(key, i)));
    return {};
  }

  Result<DeviceId> DeviceNamed(const Json& json, std::string_view key, const std::string& where) {
    PT_ASSIGN(const std::string name, JsonString(json, key, where));
    const DeviceId device = FindDevice(platform_, name);
    if (!device.valid()) return BadReference(what_, where, "device", name);
    return device;
  }

  Result<ResourceId> ResourceNamed(const Json& json, std::string_view key, const std::string& where) {
    PT_ASSIGN(const std::string name, JsonString(json, key, where));
    for (size_t i = 0; i < platform_.resources.size(); ++i) {
      if (platform_.resources[i].name == name) return ResourceId(i);
    }
    return BadReference(what_, where, "resource", name);
  }

  Result<uint32_t> Count(const Json& json, std::string_view key, const std::string& where) {
    PT_ASSIGN(const uint64_t number, JsonUnsigned(json, key, where));
    if (number > std::numeric_limits<uint32_t>::max()) {
      return Bad(where, std::string(key) + " " + std::to_string(number) + " is too large");
    }
    return static_cast<uint32_t>(number);
  }

  Status ReadDevice(const Json& json, const std::string& where) {
    Device device;
    PT_ASSIGN(device.name, JsonString(json, "name", where));
    PT_ASSIGN(device.kind, JsonString(json, "kind", where));
    PT_ASSIGN(device.memory_bytes, JsonUnsigned(json, "memory_bytes", where));
    PT_ASSIGN(device.simulated, JsonBool(json, "simulated", where));
    PT_ASSIGN(device.fingerprint, JsonString(json, "fingerprint", where));
    if (json.find("isa") != nullptr) {
      PT_ASSIGN(device.isa, JsonString(json, "isa", where));
    }
    if (json.find("cache_bytes") != nullptr) {
      PT_ASSIGN(const Json::Array* caches, JsonArray(json, "cache_bytes", where));
      for (const Json& bytes : *caches) {
        const int64_t* size = bytes.as_int();
        if (size == nullptr || *size <= 0) return Bad(where, "cache_bytes holds what is not a size");
        device.cache_bytes.push_back(static_cast<uint64_t>(*size));
      }
    }
    if (const Json* calls = json.find("calls"); calls != nullptr) {
      PT_ASSIGN(device.calls, CallRulesFromJson(*calls, where + ": calls"));
    }
    if (json.find("captures") != nullptr) {
      PT_ASSIGN(device.captures, JsonBool(json, "captures", where));
    }
    platform_.devices.push_back(std::move(device));
    return {};
  }

  Status ReadResource(const Json& json, const std::string& where) {
    Resource resource;
    PT_ASSIGN(resource.name, JsonString(json, "name", where));
    PT_ASSIGN(resource.capacity, JsonNumber(json, "capacity", where));
    if (json.find("core") != nullptr) {
      PT_ASSIGN(resource.core, Count(json, "core", where));
    }
    if (json.find("node") != nullptr) {
      PT_ASSIGN(resource.node, Count(json, "node", where));
    }
    platform_.resources.push_back(std::move(resource));
    return {};
  }

  Status ReadLink(const Json& json, const std::string& where) {
    Link link;
    PT_ASSIGN(link.from, DeviceNamed(json, "from", where));
    PT_ASSIGN(link.to, DeviceNamed(json, "to", where));
    PT_ASSIGN(link.latency_ns, JsonInt(json, "latency_ns", where));
    PT_ASSIGN(link.bytes_per_ns, JsonNumber(json, "bytes_per_ns", where));
    platform_.links.push_back(link);
    return {};
  }

  Status ReadUnitClass(const Json& json, const std::string& where) {
    UnitClass unit_class;
    PT_ASSIGN(unit_class.name, JsonString(json, "name", where));
    PT_ASSIGN(unit_class.device, DeviceNamed(json, "device", where));
    PT_ASSIGN(unit_class.cores, Count(json, "cores", where));
    platform_.unit_classes.push_back(std::move(unit_class));
    return {};
  }

  Status ReadUnit(const Json& json, const std::string& where) {
    Unit unit;
    PT_ASSIGN(unit.name, JsonString(json, "name", where));
    PT_ASSIGN(const std::string class_name, JsonString(json, "class", where));
    unit.unit_class = FindUnitClass(platform_, class_name);
    if (!unit.unit_class.valid()) return BadReference(what_, where, "unit class", class_name);
    PT_ASSIGN(const Json::Array* uses, JsonArray(json, "uses", where));
    for (const Json& use : *uses) {
      PT_ASSIGN(const ResourceId resource, ResourceNamed(use, "resource", where));
      PT_ASSIGN(const double amount, JsonNumber(use, "amount", where));
      unit.uses.emplace_back(resource, amount);
    }
    std::sort(unit.uses.begin(), unit.uses.end());
    if (json.find("driver") != nullptr) {
      PT_ASSIGN(unit.driver, ResourceNamed(json, "driver", where));
    }
    if (json.find("from") != nullptr) {
      PT_ASSIGN(const DeviceId from, DeviceNamed(json, "from", where));
      PT_ASSIGN(const DeviceId to, DeviceNamed(json, "to", where));
      unit.link = FindLink(platform_, from, to);
      if (!unit.link->valid()) return Bad(where, "serves a link that is not there");
    }
    platform_.units.push_back(std::move(unit));
    return {};
  }

  Status ReadRates(const std::string& name, const Json& json) {
    const DeviceId device = FindDevice(platform_, name);
    if (!device.valid()) return BadReference(what_, "simulated", "device", name);
    PT_ASSIGN(platform_.simulated[device], RatesFromJson(json, what_));
    return {};
  }

  const Json& json_;
  std::string_view what_;
  Platform platform_;
};

// What a segment takes may be absent: such a device records none.
Result<SimulatedRates::Launches> LaunchesFromJson(const Json& rates, std::string_view what) {
  PT_ASSIGN(const Json* json, JsonObject(rates, "launches", what));
  const std::string where = std::string(what) + ": launches";
  for (const auto& [key, value] : *json->as_object()) {
    if (key == "step_ns" || key == "segment_ns" || key == "segment_step_ns") continue;
    return MakeError(ErrorCode::kInvalidInput, "platform.field", where + ": unknown key '" + key + "'");
  }
  SimulatedRates::Launches launches;
  PT_ASSIGN(launches.step_ns, JsonInt(*json, "step_ns", where));
  if (json->find("segment_ns") != nullptr || json->find("segment_step_ns") != nullptr) {
    PT_ASSIGN(launches.segment_ns, JsonInt(*json, "segment_ns", where));
    PT_ASSIGN(launches.segment_step_ns, JsonInt(*json, "segment_step_ns", where));
  }
  return launches;
}

}  // namespace

Result<SimulatedRates> RatesFromJson(const Json& json, std::string_view what) {
  SimulatedRates rates;
  PT_ASSIGN(const Json* families, JsonObject(json, "families", what));
  for (const auto& [op, row] : *families->as_object()) {
    const std::string where = std::string(what) + ": families." + op;
    SimulatedRates::Family family;
    PT_ASSIGN(family.fixed_ns, JsonNumber(row, "fixed_ns", where));
    PT_ASSIGN(family.flops_per_ns, JsonNumber(row, "flops_per_ns", where));
    PT_ASSIGN(family.bytes_per_ns, JsonNumber(row, "bytes_per_ns", where));
    if (row.find("demand") != nullptr) {
      PT_ASSIGN(family.demand, JsonNumber(row, "demand", where));
    }
    rates.families[op] = family;
  }
  if (json.find("exact_ns") != nullptr) {
    PT_ASSIGN(const Json* exact, JsonObject(json, "exact_ns", what));
    for (const auto& [signature, ns] : *exact->as_object()) {
      PT_ASSIGN(rates.exact_ns[signature], JsonInt(*exact, signature, std::string(what) + ": exact_ns"));
    }
  }
  if (json.find("unsupported") != nullptr) {
    PT_ASSIGN(const Json::Array* unsupported, JsonArray(json, "unsupported", what));
    for (const Json& op : *unsupported) {
      if (op.as_string() == nullptr) {
        return MakeError(ErrorCode::kInvalidInput, "platform.field",
                         std::string(what) + ": unsupported holds something that is not a text");
      }
      rates.unsupported.push_back(*op.as_string());
    }
  }
  if (json.find("call_ns") != nullptr) {
    PT_ASSIGN(rates.call_ns, JsonNumber(json, "call_ns", what));
  }
  if (json.find("launches") != nullptr) {
    PT_ASSIGN(rates.launches, LaunchesFromJson(json, what));
  }
  return rates;
}

Json ToJson(const Platform& platform) {
  Json json = Json::MakeObject();
  json.Set("fingerprint", PlatformFingerprint(platform));
  Json devices = Json::MakeArray();
  for (const Device& device : platform.devices) {
    Json row = Json::MakeObject();
    row.Set("name", device.name).Set("kind", device.kind).Set("memory_bytes", device.memory_bytes);
    row.Set("simulated", device.simulated).Set("fingerprint", device.fingerprint);
    if (!device.isa.empty()) row.Set("isa", device.isa);
    if (!device.cache_bytes.empty()) {
      Json caches = Json::MakeArray();
      for (const uint64_t bytes : device.cache_bytes) caches.Push(bytes);
      row.Set("cache_bytes", std::move(caches));
    }
    if (device.calls != CallRules()) row.Set("calls", ToJson(device.calls));
    if (device.captures) row.Set("captures", true);
    devices.Push(std::move(row));
  }
  Json resources = Json::MakeArray();
  for (const Resource& resource : platform.resources) {
    Json row = Json::MakeObject();
    row.Set("name", resource.name).Set("capacity", resource.capacity);
    if (resource.core) row.Set("core", *resource.core);
    if (resource.node) row.Set("node", *resource.node);
    resources.Push(std::move(row));
  }
  Json links = Json::MakeArray();
  for (const Link& link : platform.links) {
    Json row = Json::MakeObject();
    row.Set("from", platform.device(link.from).name).Set("to", platform.device(link.to).name);
    row.Set("latency_ns", link.latency_ns).Set("bytes_per_ns", link.bytes_per_ns);
    links.Push(std::move(row));
  }
  Json unit_classes = Json::MakeArray();
  for (const UnitClass& unit_class : platform.unit_classes) {
    Json row = Json::MakeObject();
    row.Set("name", unit_class.name).Set("device", platform.device(unit_class.device).name);
    row.Set("cores", unit_class.cores);
    unit_classes.Push(std::move(row));
  }
  Json units = Json::MakeArray();
  for (const Unit& unit : platform.units) units.Push(UnitToJson(platform, unit));
  Json simulated = Json::MakeObject();
  for (const auto& [device, rates] : platform.simulated) {
    simulated.Set(platform.device(device).name, RatesToJson(rates));
  }
  json.Set("devices", std::move(devices));
  json.Set("resources", std::move(resources));
  json.Set("links", std::move(links));
  json.Set("unit_classes", std::move(unit_classes));
  json.Set("units", std::move(units));
  json.Set("simulated", std::move(simulated));
  return json;
}

Result<Platform> PlatformFromJson(const Json& json, std::string_view what) { return Reader(json, what).Read(); }

}  // namespace pt
