#include <algorithm>
#include <set>

#include "lib/platform/rates.h"
#include "partitiontuner/platform/asynchronous_device.h"
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
      "format",      "version", "kind",     "name",     "description", "memory_bytes", "streams", "to_device",
      "from_device", "peers",   "families", "exact_ns", "unsupported", "calls",        "call_ns", "launches"};
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
      AddLinkWithEngine(platform, device, link);
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
  device.kind = "simulated";
  device.simulated = true;
  PT_ASSIGN(device.memory_bytes, JsonUnsigned(description, "memory_bytes", what));
  if (const Json* calls = description.find("calls"); calls != nullptr) {
    PT_ASSIGN(device.calls, CallRulesFromJson(*calls, std::string(what) + ": calls"));
  }
  PT_ASSIGN(SimulatedRates rates, RatesFromJson(description, what));
  const Json* launches = description.find("launches");
  device.captures = launches != nullptr && launches->find("segment_ns") != nullptr;
  PT_ASSIGN(Link to_device, LinkFromJson(description, "to_device", what));
  PT_ASSIGN(Link from_device, LinkFromJson(description, "from_device", what));
  uint64_t streams = 1;
  if (description.find("streams") != nullptr) {
    PT_ASSIGN(streams, JsonUnsigned(description, "streams", what));
  }
  if (streams < 1 || streams > kMaxStreams) {
    return Bad(what, "streams must be 1 to " + std::to_string(kMaxStreams) + ", not " + std::to_string(streams));
  }

  // What costs depend on, and nothing else: a new description text must not make a profile stale.
  Json counted = Json::MakeObject();
  for (const auto& [key, value] : *description.as_object()) {
    if (key != "description" && key != "memory_bytes" && key != "kind") counted.Set(key, value);
  }
  device.fingerprint = "simulated " + ToHex(HashText(WriteJson(counted, -1)));

  Platform changed = platform;  // all or nothing
  const Result<DeviceId> added =
      AddAsynchronousDevice(changed, std::move(device), static_cast<uint32_t>(streams), to_device, from_device);
  if (!added.ok()) return Bad(what, added.error().message);
  const DeviceId id = *added;
  PT_CHECK_OK(AddPeers(changed, id, description, what));
  changed.simulated[id] = std::move(rates);
  PT_CHECK_OK(CheckPlatform(changed));
  platform = std::move(changed);
  return {};
}

}  // namespace pt
