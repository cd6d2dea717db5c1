#include <limits>

#include "lib/platform/platform_files.h"
#include "partitiontuner/platform/asynchronous_device.h"
#include "partitiontuner/platform/discover.h"
#include "partitiontuner/support/hash.h"

namespace pt {
namespace {

constexpr uint64_t kMaxStreams = 64;
constexpr std::string_view kError = "platform.simulated";

Error Bad(std::string_view what, std::string message) {
  return MakeError(ErrorCode::kInvalidInput, std::string(kError), std::string(what) + ": " + std::move(message));
}

constexpr FieldRange kBandwidths = {std::numeric_limits<double>::min(), std::numeric_limits<double>::infinity(),
                                    "{key} is {value}; expected a bandwidth above 0"};
constexpr FieldRange kStreams = {1, kMaxStreams, "{key} must be 1 to 64, not {value}"};

// Latency and bandwidth; who it joins is the caller's.
void LinkFields(FieldVisitor& v, Link& link) {
  v.Field("latency_ns", link.latency_ns, FieldNote("before the first byte").Within(kNotNegative));
  v.Field("bytes_per_ns", link.bytes_per_ns, FieldNote("above 0").Within(kBandwidths));
}

// Links with simulated devices that are there already: {"sim:0": {"to": LINK, "from": LINK}}, each way where it is
// given.
Status AddPeers(Platform& platform, DeviceId device, const Json& peers, std::string_view what) {
  if (peers.is_null()) return {};
  for (const auto& [name, ways] : *peers.as_object()) {
    const std::string where = std::string(what) + ": peers." + name;
    const DeviceId peer = FindDevice(platform, name);
    if (!peer.valid() || peer == device || !platform.device(peer).simulated) {
      return Bad(where, "no simulated device of that name comes before this one");
    }
    if (ways.as_object() == nullptr) return Bad(where, "expected an object with \"to\" and \"from\"");
    for (const auto& [way, row] : *ways.as_object()) {
      if (way != "to" && way != "from") return Bad(where, "unknown key '" + way + "'; expected \"to\" or \"from\"");
      Link link;
      const FieldSource source = {where + ": " + way, where + ": " + way, std::string(kError)};
      PT_CHECK_OK(ReadFieldsBy(row, source, [&](FieldVisitor& v) { LinkFields(v, link); }));
      link.from = way == "to" ? device : peer;
      link.to = way == "to" ? peer : device;
      AddLinkWithEngine(platform, device, link);
    }
  }
  return {};
}

}  // namespace

void Fields(FieldVisitor& v, SimulatedFile& file) {
  v.Closed();  // a misspelt rate would silently count as absent
  v.Field("format", file.format, FieldNote("`partitiontuner-platform`").ForPeople());
  v.Field("version", file.version, "1");
  if (v.reads() && file.version != 1) {
    v.Fail("platform file version " + std::to_string(file.version) + " is unknown; this program reads version 1",
           "platform.version", ErrorCode::kStale);
  }
  v.Field("kind", file.kind, FieldNote("`simulated`").ForPeople());
  v.Field("name", file.name, "what the device is called");
  v.Field("description", file.description, FieldNote("what it stands for").ForPeople());
  v.Field("memory_bytes", file.memory_bytes, "0: not known");
  v.Field("streams", file.streams, FieldNote("how many steps run at once, 1 to 64 (1)").Optional().Within(kStreams), 1);
  v.Object("to_device", "copies from the host", [&] { LinkFields(v, file.to_device); });
  v.Object("from_device", "copies to the host", [&] { LinkFields(v, file.from_device); });
  v.Field("peers", file.peers,
          FieldNote("by names of simulated devices before it: `to` and `from`, each a link like these").Optional());
  if (v.reads() && v.Has("peers") && file.peers.as_object() == nullptr) {
    v.Fail("\"peers\" is not an object", "json.field");
  }
  v.Field("calls", file.calls, FieldNote("what one call may hold").Optional());
  Fields(v, file.rates);
  v.ErrorsAre(kError);  // of the file again
}

Status AddSimulatedDevice(Platform& platform, const Json& description, std::string_view what) {
  SimulatedFile file;
  PT_CHECK_OK(ReadFields(description, FileSource(what, kError), file));
  Device device;
  device.name = std::move(file.name);
  device.kind = "simulated";
  device.simulated = true;
  device.memory_bytes = file.memory_bytes;
  device.calls = std::move(file.calls);
  const Json* launches = description.find("launches");
  device.captures = launches != nullptr && launches->find("segment_ns") != nullptr;

  // What costs depend on, and nothing else: a new description text must not make a profile stale.
  Json counted = Json::MakeObject();
  for (const auto& [key, value] : *description.as_object()) {
    if (key != "description" && key != "memory_bytes" && key != "kind") counted.Set(key, value);
  }
  device.fingerprint = "simulated " + ToHex(HashText(WriteJson(counted, -1)));

  Platform changed = platform;  // all or nothing
  const Result<DeviceId> added = AddAsynchronousDevice(changed, std::move(device), static_cast<uint32_t>(file.streams),
                                                       file.to_device, file.from_device);
  if (!added.ok()) return Bad(what, added.error().message);
  const DeviceId id = *added;
  PT_CHECK_OK(AddPeers(changed, id, file.peers, what));
  changed.simulated[id] = std::move(file.rates);
  PT_CHECK_OK(CheckPlatform(changed));
  platform = std::move(changed);
  return {};
}

}  // namespace pt
