// Walks the table of device kinds: from rows and platform files to the platform and its drivers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/backend/backends.h"

namespace pt {

// What platform files say: one whole machine, or devices by their kind.
struct PlatformFiles {
  std::optional<Platform> whole;
  std::string whole_file;
  std::map<std::string, std::vector<DeviceDescription>, std::less<>> described;
};

// Errors: kInvalidInput (unreadable, or of a kind of device that is not in `kinds`: those are listed), kUsage (a whole
// machine beside other files).
Result<PlatformFiles> ReadPlatformFiles(std::span<const DeviceKind> kinds, const std::vector<std::string>& files);

// Adds what one kind finds. On an error the platform is as before. kInternal where a kind breaks the rules of its row.
Status Discover(const DeviceKind& kind, const DiscoverRequest& request, Platform& platform);

// kDeviceUnusable for a device whose kind is not in `kinds`: those are listed.
Result<std::unique_ptr<DeviceDriver>> MakeDriver(std::span<const DeviceKind> kinds, const Platform& platform,
                                                 DeviceId id);

// The platform without the devices for which keep, by device, says no: neither their units nor their links.
Platform KeepDevices(const Platform& platform, const std::vector<bool>& keep);

}  // namespace pt
