#include "partitiontuner/platform/platform.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace pt {
namespace {

template <typename Id, typename T>
Id FindByName(const std::vector<T>& items, std::string_view name) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return Id(i);
  }
  return Id();
}

// Full use of the whole capacity: nothing else fits beside it.
bool IsExclusive(const Platform& platform, const std::pair<ResourceId, double>& use) {
  return use.second >= platform.resources[use.first.index()].capacity;
}

Error Fault(std::string message) {
  return MakeError(ErrorCode::kInvalidInput, "platform.invalid", "platform: " + std::move(message));
}

template <typename T>
Status CheckNames(const std::vector<T>& items, const char* what) {
  std::set<std::string_view> names;
  for (const T& item : items) {
    if (item.name.empty()) return Fault(std::string(what) + " without a name");
    if (!names.insert(item.name).second) {
      return Fault("duplicate " + std::string(what) + " '" + item.name + "'");
    }
  }
  return {};
}

Status CheckUses(const Platform& platform, const Unit& unit) {
  const ResourceId* previous = nullptr;
  for (const auto& [resource, amount] : unit.uses) {
    if (resource.index() >= platform.resources.size()) {
      return Fault("unit '" + unit.name + "' uses resource " + std::to_string(resource.value) + " of " +
                   std::to_string(platform.resources.size()));
    }
    if (previous != nullptr && !(*previous < resource)) {
      return Fault("unit '" + unit.name + "': uses are not sorted");
    }
    previous = &resource;
    const Resource& used = platform.resources[resource.index()];
    if (!(amount > 0) || amount > used.capacity) {
      return Fault("unit '" + unit.name + "' uses " + std::to_string(amount) + " of '" + used.name + "', which has " +
                   std::to_string(used.capacity));
    }
  }
  return {};
}

Status CheckUnit(const Platform& platform, const Unit& unit) {
  if (unit.unit_class.index() >= platform.unit_classes.size()) {
    return Fault("unit '" + unit.name + "' has no class");
  }
  PT_CHECK_OK(CheckUses(platform, unit));
  const UnitClass& unit_class = platform.unit_class(unit.unit_class);
  const auto cores = std::count_if(unit.uses.begin(), unit.uses.end(), [&](const auto& use) {
    return platform.resources[use.first.index()].core.has_value();
  });
  if (cores != static_cast<std::ptrdiff_t>(unit_class.cores)) {
    return Fault("unit '" + unit.name + "' uses " + std::to_string(cores) + " cores, its class '" + unit_class.name +
                 "' says " + std::to_string(unit_class.cores));
  }
  if (unit_class.on_host() == unit.driver.has_value()) {
    return Fault("unit '" + unit.name + "': exactly the units of other devices than the host have a driver core");
  }
  if (unit.driver &&
      (unit.driver->index() >= platform.resources.size() || !platform.resources[unit.driver->index()].core)) {
    return Fault("unit '" + unit.name + "': its driver is not a core");
  }
  if (unit.link && unit.link->index() >= platform.links.size()) {
    return Fault("unit '" + unit.name + "' serves link " + std::to_string(unit.link->value) + " of " +
                 std::to_string(platform.links.size()));
  }
  return {};
}

Status CheckLinks(const Platform& platform) {
  std::set<std::pair<DeviceId, DeviceId>> seen;
  for (const Link& link : platform.links) {
    if (link.from.index() >= platform.devices.size() || link.to.index() >= platform.devices.size() ||
        link.from == link.to) {
      return Fault("a link does not lead from one device to another");
    }
    if (!seen.emplace(link.from, link.to).second) {
      return Fault("two links from '" + platform.device(link.from).name + "' to '" + platform.device(link.to).name +
                   "'");
    }
    if (link.latency_ns < 0 || !(link.bytes_per_ns >= 0)) {
      return Fault("a link has a negative latency or bandwidth");
    }
  }
  return {};
}

Status CheckRates(const Platform& platform) {
  for (const auto& [device, rates] : platform.simulated) {
    if (device.index() >= platform.devices.size() || !platform.device(device).simulated) {
      return Fault("rates of a device that is not simulated");
    }
    if (!(rates.call_ns >= 0)) return Fault("negative call_ns of '" + platform.device(device).name + "'");
    const SimulatedRates::Launches& launches = rates.launches;
    if (std::min({launches.step_ns, launches.segment_ns, launches.segment_step_ns}) < 0) {
      return Fault("a launch of '" + platform.device(device).name + "' takes less than no time");
    }
    for (const auto& [op, family] : rates.families) {
      if (!(family.fixed_ns >= 0) || !(family.flops_per_ns >= 0) || !(family.bytes_per_ns >= 0)) {
        return Fault("negative rate of '" + op + "'");
      }
      if (!(family.demand > 0) || family.demand > 1) {
        return Fault("the demand of '" + op + "' must be above 0 and at most 1");
      }
    }
    for (const auto& [signature, ns] : rates.exact_ns) {
      if (ns < 0) return Fault("negative time of signature " + signature);
    }
  }
  return {};
}

}  // namespace

bool Device::has_instructions(std::string_view name) const {
  return !name.empty() && (" " + isa + " ").find(" " + std::string(name) + " ") != std::string::npos;
}

int64_t CopyNs(const Link& link, uint64_t bytes) {
  const double transfer = link.bytes_per_ns > 0 ? static_cast<double>(bytes) / link.bytes_per_ns : 0;
  return link.latency_ns + std::llround(std::min(transfer, 4e18));
}

DeviceId FindDevice(const Platform& platform, std::string_view name) {
  return FindByName<DeviceId>(platform.devices, name);
}

UnitId FindUnit(const Platform& platform, std::string_view name) { return FindByName<UnitId>(platform.units, name); }

UnitClassId FindUnitClass(const Platform& platform, std::string_view name) {
  return FindByName<UnitClassId>(platform.unit_classes, name);
}

LinkId FindLink(const Platform& platform, DeviceId from, DeviceId to) {
  for (size_t i = 0; i < platform.links.size(); ++i) {
    if (platform.links[i].from == from && platform.links[i].to == to) return LinkId(i);
  }
  return LinkId();
}

UnitId FindCopyUnit(const Platform& platform, LinkId link) {
  for (size_t i = 0; i < platform.units.size(); ++i) {
    if (platform.units[i].link == link) return UnitId(i);
  }
  return UnitId();
}

UnitId WidestHostUnit(const Platform& platform) {
  UnitId widest;
  uint32_t most = 0;
  for (size_t u = 0; u < platform.units.size(); ++u) {
    const UnitClass& unit_class = platform.unit_class(platform.units[u].unit_class);
    if (platform.units[u].link || !unit_class.on_host() || unit_class.cores <= most) continue;
    most = unit_class.cores;
    widest = UnitId(u);
  }
  return widest;
}

std::vector<UnitId> SingleCoreUnits(const Platform& platform) {
  std::vector<UnitId> units;
  for (size_t u = 0; u < platform.units.size(); ++u) {
    const UnitClass& unit_class = platform.unit_class(platform.units[u].unit_class);
    if (!platform.units[u].link && unit_class.on_host() && unit_class.cores == 1) units.push_back(UnitId(u));
  }
  return units;
}

std::vector<UnitId> UnitsOf(const Platform& platform, UnitClassId unit_class) {
  std::vector<UnitId> units;
  for (size_t i = 0; i < platform.units.size(); ++i) {
    if (platform.units[i].unit_class == unit_class) units.push_back(UnitId(i));
  }
  return units;
}

std::optional<uint32_t> HomeNode(const Platform& platform, UnitId unit) {
  std::optional<uint32_t> home;
  for (const auto& [id, amount] : platform.unit(unit).uses) {
    const Resource& resource = platform.resources[id.index()];
    if (!resource.core) continue;
    if (!resource.node || (home && home != resource.node)) return std::nullopt;
    home = resource.node;
  }
  return home;
}

bool UnitsConflict(const Platform& platform, UnitId a, UnitId b) {
  const auto& left = platform.unit(a).uses;
  const auto& right = platform.unit(b).uses;
  auto l = left.begin();
  auto r = right.begin();
  while (l != left.end() && r != right.end()) {
    if (l->first < r->first) {
      ++l;
    } else if (r->first < l->first) {
      ++r;
    } else {
      if (IsExclusive(platform, *l) || IsExclusive(platform, *r)) return true;
      ++l;
      ++r;
    }
  }
  return false;
}

Status CheckPlatform(const Platform& platform) {
  if (platform.devices.empty() || platform.device(kHostDevice).name != "cpu") {
    return Fault("the first device must be 'cpu'");
  }
  PT_CHECK_OK(CheckNames(platform.devices, "device"));
  for (const Device& device : platform.devices) {
    if (device.simulated && device.calls.math == "tf32") {
      return Fault("'" + device.name + "' is simulated, and simulated devices do not compute in tf32");
    }
  }
  PT_CHECK_OK(CheckNames(platform.unit_classes, "unit class"));
  PT_CHECK_OK(CheckNames(platform.units, "unit"));
  PT_CHECK_OK(CheckNames(platform.resources, "resource"));
  for (const Resource& resource : platform.resources) {
    if (!(resource.capacity > 0)) return Fault("resource '" + resource.name + "' has no capacity");
  }
  for (const UnitClass& unit_class : platform.unit_classes) {
    if (unit_class.device.index() >= platform.devices.size()) {
      return Fault("unit class '" + unit_class.name + "' has no device");
    }
    if (unit_class.on_host() != (unit_class.cores > 0)) {
      return Fault("unit class '" + unit_class.name + "' occupies " + std::to_string(unit_class.cores) +
                   " cores; classes of the host occupy at least 1, others none");
    }
  }
  PT_CHECK_OK(CheckLinks(platform));
  for (const Unit& unit : platform.units) PT_CHECK_OK(CheckUnit(platform, unit));
  return CheckRates(platform);
}

}  // namespace pt
