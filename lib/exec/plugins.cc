#include "lib/exec/plugins.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "partitiontuner/support/text.h"

namespace pt {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnvironment = "PARTITIONTUNER_PLUGIN_PATH";
constexpr const char* kNoPlugins = "none";

// "libsoftsign.so" and "softsign.so" are both "softsign": how a file is named until its entry can be asked.
std::string NameOfFile(const fs::path& path) {
  std::string name = path.stem().string();
  if (name.starts_with("lib")) name.erase(0, 3);
  return name;
}

// The shared objects in a folder, by name. A folder that is not there holds none.
std::vector<fs::path> ObjectsIn(const std::string& folder) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().extension() == ".so") paths.push_back(entry->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<LoadedPlugin> Load(const fs::path& path) {
  LoadedPlugin plugin;
  PT_ASSIGN(plugin.object, SharedObject::Open(path.string()));
  PT_ASSIGN(plugin.entry, CheckedEntry(*plugin.object));
  plugin.report.name = plugin.entry->name;
  plugin.report.path = path.string();
  return plugin;
}

Error Absent(const std::string& name, const std::vector<std::string>& folders) {
  Error error = MakeError(ErrorCode::kDeviceUnusable, "plugin.absent",
                          "there is no plugin '" + name + "' in " + (folders.empty() ? "any folder" : Joined(folders)),
                          std::string("--plugin-path and ") + kEnvironment + " say where to look");
  error.device = name;
  return error;
}

}  // namespace

std::vector<std::string> DefaultPluginFolders() {
  if (const char* text = std::getenv(kEnvironment); text != nullptr) return SplitFolders(text);
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&DefaultPluginFolders), &info) == 0 || info.dli_fname == nullptr) return {};
  return {(fs::absolute(info.dli_fname).parent_path() / "partitiontuner" / "plugins").string()};
}

std::vector<std::string> SplitFolders(std::string_view text) {
  std::vector<std::string> folders;
  while (!text.empty()) {
    const size_t end = std::min(text.find(':'), text.size());
    if (end > 0) folders.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folders;
}

Result<FoundPlugins> FindPlugins(const MachineOptions& options) {
  FoundPlugins found;
  if (options.plugins == std::vector<std::string>{kNoPlugins}) return found;
  const std::vector<std::string> folders = options.plugin_paths.empty() ? DefaultPluginFolders() : options.plugin_paths;
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    for (const fs::path& path : ObjectsIn(folder)) {
      Result<LoadedPlugin> plugin = Load(path);
      const std::string name = plugin.ok() ? plugin->report.name : NameOfFile(path);
      const bool named = Contains(options.plugins, name);
      if (!options.plugins.empty() && !named) continue;
      if (plugin.ok() && names.contains(name)) {
        plugin = MakeError(ErrorCode::kDeviceUnusable, "plugin.twice", "another plugin of this name was found before");
      } else if (!plugin.ok() && named) {
        Error error = std::move(plugin).error();
        error.message = "the plugin '" + name + "' cannot be used: " + error.message;
        error.file = path.string();
        error.device = name;
        return error;
      }
      if (!plugin.ok()) {
        found.refused.push_back({name, path.string(), plugin.error().message, {}, {}});
        continue;
      }
      names.insert(name);
      plugin->named = named;
      found.loaded.push_back(std::move(plugin).value());
    }
  }
  for (const std::string& name : options.plugins) {
    if (!names.contains(name)) return Absent(name, folders);
  }
  return found;
}

}  // namespace pt
