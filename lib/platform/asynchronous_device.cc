#include "partitiontuner/platform/asynchronous_device.h"

namespace pt {
namespace {

// Invalid where the platform has none.
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

}  // namespace

void AddLinkWithEngine(Platform& platform, DeviceId device, const Link& link) {
  const std::string name = platform.device(link.from).name + ">" + platform.device(link.to).name;
  platform.links.push_back(link);
  const LinkId id(platform.links.size() - 1);
  const ResourceId resource = AddResource(platform, "link " + name);
  AddUnit(platform, name, AddClass(platform, name, device), resource, 1.0, id);
}

Result<DeviceId> AddAsynchronousDevice(Platform& platform, Device device, uint32_t streams, Link to_device,
                                       Link from_device) {
  if (FindDevice(platform, device.name).valid()) {
    return MakeError(ErrorCode::kInvalidInput, "platform.device", "a device '" + device.name + "' is there already");
  }
  if (!LastCore(platform).valid()) {
    return MakeError(ErrorCode::kInvalidInput, "platform.device",
                     "the platform has no core to drive device '" + device.name + "'");
  }
  const std::string name = device.name;
  platform.devices.push_back(std::move(device));
  const DeviceId id(platform.devices.size() - 1);
  const ResourceId resource = AddResource(platform, name);
  const UnitClassId unit_class = AddClass(platform, name, id);
  for (uint32_t i = 0; i < streams; ++i) {
    AddUnit(platform, name + "#" + std::to_string(i), unit_class, resource, 1.0 / static_cast<double>(streams),
            std::nullopt);
  }
  to_device.from = from_device.to = kHostDevice;
  to_device.to = from_device.from = id;
  AddLinkWithEngine(platform, id, to_device);
  AddLinkWithEngine(platform, id, from_device);
  return id;
}

}  // namespace pt
