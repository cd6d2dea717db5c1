// Finding plugins: from folders and names to opened shared objects, or the reason why not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/exec/shared_object.h"
#include "partitiontuner/exec/machine.h"

namespace pt {

struct LoadedPlugin {
  std::unique_ptr<SharedObject> object;
  const PluginEntry* entry = nullptr;  // in the object
  PluginReport report;
  bool named = false;  // somebody asked for it: that it cannot be used is an error
};

struct FoundPlugins {
  std::vector<LoadedPlugin> loaded;
  std::vector<PluginReport> refused;
};

// Every *.so in the folders, in the order of folders and names. Errors (kDeviceUnusable): one that options.plugins
// names is absent or refused, with the reason.
Result<FoundPlugins> FindPlugins(const MachineOptions& options);

}  // namespace pt
