// What a backend brings to a machine: libraries, or kinds of devices, or both. The table of those built in; plugins
// hand over the same rows (backend/plugin.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/backend/backend.h"
#include "partitiontuner/support/json.h"

namespace pt {

// A device that a person described in a file instead of one that is found (profiles/*.json).
struct DeviceDescription {
  std::string what;  // the file, for errors
  Json json;
};

// What devices are looked for with.
struct DiscoverRequest {
  uint32_t max_cores = 0;                    // 0 = all allowed by the affinity mask and control group
  std::vector<DeviceDescription> described;  // those of the kind that is asked, in order
};

// A kind of device. Functions may be called from any thread; they keep nothing of their arguments.
struct DeviceKind {
  std::string_view name;  // Device::kind
  std::string_view summary;
  // The host itself: its memory is the process's, kernels run on its cores at once. Exactly one kind is, and it is
  // asked first; all others are asynchronous.
  bool host = false;
  // Adds the devices of this kind that are present or described, with their unit classes, units, links and resources;
  // none is not an error. Errors: a device that is there but cannot be used (kDeviceUnusable, with the reason), a bad
  // description (kInvalidInput).
  Status (*discover)(const DiscoverRequest& request, Platform& platform) = nullptr;
  // The driver of one such device of the platform.
  Result<std::unique_ptr<DeviceDriver>> (*make_driver)(const Platform& platform, DeviceId id) = nullptr;
};

// A library of a backend, and how it is made.
struct LibraryRow {
  std::string_view name, summary;
  std::unique_ptr<Library> (*make)() = nullptr;
};

// What one backend of the build brings.
struct Backend {
  std::string_view name;
  std::vector<DeviceKind> device_kinds;
  std::vector<LibraryRow> libraries;  // in order of preference
};

// The backends of this build (CMake's PT_BACKEND_* switches), in order of preference. The host's comes first.
std::span<const Backend> BuiltInBackends();

}  // namespace pt
