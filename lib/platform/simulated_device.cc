#include <algorithm>
#include <set>

#include "lib/platform/rates.h"
#include "partitiontuner/platform/discover.h"
#include "partitiontuner/support/hash.h"

namespace pt {
namespace {

constexpr uint64_t kMaxStreams = 64;

Error Bad(std::string_view what, std::string message) {
  return MakeError(ErrorCode::kInvalidInput, "platform.simulated", std::string(what) + ": " + std::move(message));
}

// A misspelt rate would silently count as absent.
Status RefuseUnknownKeys(const Json& json, std::string_view what) {
  static const std::set<std::string_view> known = {
      "format",    "version",     "kind",  "name",     "description", "memory_bytes", "streams",
      "to_device", "from_device", "peers", "families", "exact_ns",    "unsupported"};
  for (const auto& [key, value] : *json.as_object()) {
    if (!known.contains(key)) return Bad(what, "unknown key '" + key + "'");
  }
  return {};
}

// Latency and bandwidth; who it joins is the caller's.
Result<Link> LinkFromJson(const Json& json, std::string_view key, std::string_view what) {
  PT_ASSIGN(const Json* row, JsonObject(json, key, what));
  Link link;
  const std::string where = std::string(what) + ": " + std::string(key);
  PT_ASSIGN(link.latency_ns, JsonInt(*row, "latency_ns", where));
  PT_ASSIGN(link.bytes_per_ns, JsonNumber(*row, "bytes_per_ns", where));
  if (link.latency_ns < 0 || !(link.bytes_per_ns > 0)) {
    return Bad(where, "a link needs a latency of at least 0 and a bandwidth above 0");
  }
  return link;
}

// The resource of the last allowed core: the first core is the one that callers of Run lend.
ResourceId LastCore(const Platform& platform) {
  ResourceId last;
  for (size_t i = 0; i < platform.resources.size(); ++i) {
    if (platform.resources[i].core) last = ResourceId(i);
  }
  return last;
}

void AddUnit(Platform& platform, std::string name, UnitClassId unit_class, ResourceId resource, double share,
             std::optional<LinkId> link) {
  Unit unit;
  unit.name = std::move(name);
  unit.unit_class = unit_class;
  unit.uses = {{resource, share}};
  unit.driver = LastCore(platform);
  unit.link = link;
  platform.units.push_back(std::move(unit));
}

ResourceId AddResource(Platform& platform, std::string name) {
  platform.resources.push_back({std::move(name), 1.0, std::nullopt});
  return ResourceId(platform.resources.size() - 1);
}

UnitClassId AddClass(Platform& platform, std::string name, DeviceId device) {
  platform.unit_classes.push_back({std::move(name), device, 0});
  return UnitClassId(platform.unit_classes.size() - 1);
}

// A link with its copy engine, a class of its own since copying costs differently each way.
void AddLink(Platform& platform, DeviceId device, Link link) {
  const std::string name = platform.device(link.from).name + ">" + platform.device(link.to).name;
  platform.links.push_back(link);
  const LinkId id(platform.links.size() - 1);
  const ResourceId resource = AddResource(platform, "link " + name);
  AddUnit(platform, name, AddClass(platform, name, device), resource, 1.0, id);
}

// Links with simulated devices that are there already: {"sim:0": {"to": LINK, "from": LINK}}, each way where it is
// given.
Status AddPeers(Platform& platform, DeviceId device, const Json& description, std::string_view what) {
  if (description.find("peers") == nullptr) return {};
  PT_ASSIGN(const Json* peers, JsonObject(description, "peers", what));
  for (const auto& [name, ways] : *peers->as_object()) {
    const std::string where = std::string(what) + ": peers." + name;
    const DeviceId peer = FindDevice(platform, name);
    if (!peer.valid() || peer == device || !platform.device(peer).simulated) {
      return Bad(where, "no simulated device of that name comes before this one");
    }
    if (ways.as_object() == nullptr) return Bad(where, "expected an object with \"to\" and \"from\"");
    for (const auto& [way, row] : *ways.as_object()) {
      if (way != "to" && way != "from") return Bad(where, "unknown key '" + way + "'; expected \"to\" or \"from\"");
      PT_ASSIGN(Link link, LinkFromJson(ways, way, where));
      link.from = way == "to" ? device : peer;
      link.to = way == "to" ? peer : device;
      AddLink(platform, device, link);
    }
  }
  return {};
}

}  // namespace

Status AddSimulatedDevice(Platform& platform, const Json& description, std::string_view what) {
  if (description.as_object() == nullptr) return Bad(what, "a platform file is a JSON object");
  PT_CHECK_OK(RefuseUnknownKeys(description, what));
  PT_ASSIGN(const int64_t version, JsonInt(description, "version", what));
  if (version != 1) {
    return MakeError(ErrorCode::kStale, "platform.version",
                     std::string(what) + ": platform file version " + std::to_string(version) +
                         " is unknown; this program reads version 1");
  }
  Device device;
  PT_ASSIGN(device.name, JsonString(description, "name", what));
  if (FindDevice(platform, device.name).valid()) {
    return Bad(what, "a device '" + device.name + "' is there already");
  }
  device.kind = "simulated";
  device.simulated = true;
  PT_ASSIGN(device.memory_bytes, JsonUnsigned(description, "memory_bytes", what));
  PT_ASSIGN(SimulatedRates rates, RatesFromJson(description, what));
  PT_ASSIGN(Link to_device, LinkFromJson(description, "to_device", what));
  PT_ASSIGN(Link from_device, LinkFromJson(description, "from_device", what));
  uint64_t streams = 1;
  if (description.find("streams") != nullptr) {
    PT_ASSIGN(streams, JsonUnsigned(description, "streams", what));
  }
  if (streams < 1 || streams > kMaxStreams) {
    return Bad(what, "streams must be 1 to " + std::to_string(kMaxStreams) + ", not " + std::to_string(streams));
  }
  if (!LastCore(platform).valid()) return Bad(what, "the platform has no core to drive a device");

  // What costs depend on, and nothing else: a new description text must not make a profile stale.
  Json counted = Json::MakeObject();
  for (const auto& [key, value] : *description.as_object()) {
    if (key != "description" && key != "memory_bytes" && key != "kind") counted.Set(key, value);
  }
  device.fingerprint = "simulated " + ToHex(HashText(WriteJson(counted, -1)));

  Platform changed = platform;  // all or nothing
  const std::string name = device.name;
  changed.devices.push_back(std::move(device));
  const DeviceId id(changed.devices.size() - 1);
  const ResourceId resource = AddResource(changed, name);
  const UnitClassId unit_class = AddClass(changed, name, id);
  for (uint64_t i = 0; i < streams; ++i) {
    AddUnit(changed, name + "#" + std::to_string(i), unit_class, resource, 1.0 / static_cast<double>(streams),
            std::nullopt);
  }
  to_device.from = from_device.to = kHostDevice;
  to_device.to = from_device.from = id;
  AddLink(changed, id, to_device);
  AddLink(changed, id, from_device);
  PT_CHECK_OK(AddPeers(changed, id, description, what));
  changed.simulated[id] = std::move(rates);
  PT_CHECK_OK(CheckPlatform(changed));
  platform = std::move(changed);
  return {};
}

}  // namespace pt
