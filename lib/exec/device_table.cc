#include "lib/exec/device_table.h"

#include <algorithm>

#include "partitiontuner/support/file.h"

namespace pt {
namespace {

constexpr std::string_view kKindUnlessSaid = "simulated";

std::string NamesOf(std::span<const DeviceKind> kinds) {
  std::string names;
  for (const DeviceKind& kind : kinds) names += (names.empty() ? "" : ", ") + std::string(kind.name);
  return names;
}

const DeviceKind* FindKind(std::span<const DeviceKind> kinds, std::string_view name) {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const DeviceKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

Error UnknownKind(ErrorCode code, const std::string& where, const std::string& name,
                  std::span<const DeviceKind> kinds) {
  return MakeError(code, "platform.kind",
                   where + ": unknown kind of device \"" + name + "\"; expected one of " + NamesOf(kinds),
                   "kinds come with the build and with plugins; --list-devices shows them");
}

Status ReadFileInto(std::span<const DeviceKind> kinds, const std::string& file, PlatformFiles& read) {
  const Limits limits;
  PT_ASSIGN(const std::string text, ReadFile(file, limits.profile_bytes));
  PT_ASSIGN(Json json, ParseJson(text, file, limits));
  if (json.as_object() != nullptr && json.find("devices") != nullptr) {
    PT_ASSIGN(read.whole, PlatformFromJson(json, file));
    read.whole_file = file;
    for (const Device& device : read.whole->devices) {
      if (FindKind(kinds, device.kind) == nullptr) {
        return UnknownKind(ErrorCode::kInvalidInput, file + ": device '" + device.name + "'", device.kind, kinds);
      }
    }
    return {};
  }
  std::string name(kKindUnlessSaid);
  if (json.as_object() != nullptr && json.find("kind") != nullptr) {
    PT_ASSIGN(name, JsonString(json, "kind", file));
  }
  if (FindKind(kinds, name) == nullptr) return UnknownKind(ErrorCode::kInvalidInput, file, name, kinds);
  read.described[name].push_back({file, std::move(json)});
  return {};
}

// The devices that a row added are of its kind, and the host exactly where the row says so.
Status CheckFound(const DeviceKind& kind, const Platform& platform, size_t before) {
  for (size_t i = before; i < platform.devices.size(); ++i) {
    const Device& device = platform.devices[i];
    if (device.kind == kind.name && IsHost(DeviceId(i)) == kind.host) continue;
    Error error = MakeError(ErrorCode::kInternal, "machine.device_kind",
                            "the device kind \"" + std::string(kind.name) + "\" added device #" + std::to_string(i) +
                                " '" + device.name + "' of kind \"" + device.kind + "\"" +
                                (kind.host ? "; it may add the host, device #0, only" : ""));
    error.device = device.name;
    return error;
  }
  return CheckPlatform(platform);
}

}  // namespace

Result<PlatformFiles> ReadPlatformFiles(std::span<const DeviceKind> kinds, const std::vector<std::string>& files) {
  PlatformFiles read;
  for (const std::string& file : files) PT_CHECK_OK(ReadFileInto(kinds, file, read));
  if (read.whole && files.size() > 1) {
    return MakeError(ErrorCode::kUsage, "platform.files",
                     read.whole_file + " describes a whole machine; other platform files cannot be added to it",
                     "write one file that holds all devices: --print-platform with the other files");
  }
  return read;
}

Status Discover(const DeviceKind& kind, const DiscoverRequest& request, Platform& platform) {
  Platform attempt = platform;
  PT_CHECK_OK(kind.discover(request, attempt));
  PT_CHECK_OK(CheckFound(kind, attempt, platform.devices.size()));
  platform = std::move(attempt);
  return {};
}

Result<std::unique_ptr<DeviceDriver>> MakeDriver(std::span<const DeviceKind> kinds, const Platform& platform,
                                                 DeviceId id) {
  const Device& device = platform.device(id);
  const DeviceKind* kind = FindKind(kinds, device.kind);
  if (kind == nullptr) {
    Error error = UnknownKind(ErrorCode::kDeviceUnusable, "device '" + device.name + "'", device.kind, kinds);
    error.device = device.name;
    return error;
  }
  return kind->make_driver(platform, id);
}

Platform KeepDevices(const Platform& platform, const std::vector<bool>& keep) {
  Platform kept;
  kept.resources = platform.resources;
  std::vector<DeviceId> device(platform.devices.size());
  for (size_t i = 0; i < platform.devices.size(); ++i) {
    if (!keep[i]) continue;
    device[i] = DeviceId(kept.devices.size());
    kept.devices.push_back(platform.devices[i]);
  }
  std::vector<LinkId> links(platform.links.size());
  for (size_t i = 0; i < platform.links.size(); ++i) {
    Link link = platform.links[i];
    link.from = device[link.from.index()];
    link.to = device[link.to.index()];
    if (!link.from.valid() || !link.to.valid()) continue;
    links[i] = LinkId(kept.links.size());
    kept.links.push_back(link);
  }
  // The engines of a device that stays go with the links they serve, and a class goes with its last unit.
  const auto goes = [&](const Unit& unit) { return unit.link && !links[unit.link->index()].valid(); };
  std::vector<bool> is_empty(platform.unit_classes.size(), false);
  for (const Unit& unit : platform.units) {
    if (goes(unit)) is_empty[unit.unit_class.index()] = true;
  }
  for (const Unit& unit : platform.units) {
    if (!goes(unit)) is_empty[unit.unit_class.index()] = false;
  }
  std::vector<UnitClassId> unit_classes(platform.unit_classes.size());
  for (size_t i = 0; i < platform.unit_classes.size(); ++i) {
    UnitClass unit_class = platform.unit_classes[i];
    unit_class.device = device[unit_class.device.index()];
    if (!unit_class.device.valid() || is_empty[i]) continue;
    unit_classes[i] = UnitClassId(kept.unit_classes.size());
    kept.unit_classes.push_back(std::move(unit_class));
  }
  for (Unit unit : platform.units) {
    if (goes(unit)) continue;
    unit.unit_class = unit_classes[unit.unit_class.index()];
    if (unit.link) unit.link = links[unit.link->index()];
    if (unit.unit_class.valid()) kept.units.push_back(std::move(unit));
  }
  for (const auto& [id, rates] : platform.simulated) {
    if (keep[id.index()]) kept.simulated.emplace(device[id.index()], rates);
  }
  return kept;
}

}  // namespace pt
