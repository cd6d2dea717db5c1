#include "plugins/shared/places.h"

#include <algorithm>

#include "partitiontuner/candidate/device_calls.h"
#include "plugins/shared/cores.h"

namespace pt::plugins {
namespace {

bool IsCopyClass(const Platform& platform, UnitClassId unit_class) {
  const std::vector<UnitId> units = UnitsOf(platform, unit_class);
  return std::ranges::any_of(units, [&](UnitId unit) { return platform.unit(unit).link.has_value(); });
}

bool IsServed(const Library& library, const Platform& platform, UnitClassId id, const Precision& precision) {
  const UnitClass& unit_class = platform.unit_class(id);
  if (!library.Serves(platform, unit_class.device) || IsCopyClass(platform, id)) return false;
  if (unit_class.on_host()) return unit_class.cores == 1 || unit_class.cores == HostCores(platform).size();
  return precision.allows(MathOf(platform.device(unit_class.device)));
}

}  // namespace

std::vector<UnitClassId> ServedClasses(const Library& library, const Platform& platform, const Precision& precision) {
  std::vector<UnitClassId> served;
  for (size_t i = 0; i < platform.unit_classes.size(); ++i) {
    if (IsServed(library, platform, UnitClassId(i), precision)) served.push_back(UnitClassId(i));
  }
  return served;
}

Precision ModesOfDevices(const Library& library, const Platform& platform) {
  Precision modes;
  for (size_t i = 0; i < platform.devices.size(); ++i) {
    const DeviceId device(i);
    if (!IsHost(device) && library.Serves(platform, device)) modes = modes.with(MathOf(platform.device(device)));
  }
  return modes;
}

}  // namespace pt::plugins
