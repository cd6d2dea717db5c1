#include "lib/exec/shared_object.h"

#include <dlfcn.h>

#include <string_view>

namespace pt {
namespace {

Error Refused(const char* id, std::string message, std::string hint = {}) {
  return MakeError(ErrorCode::kDeviceUnusable, id, std::move(message), std::move(hint));
}

std::string LoaderMessage() {
  const char* text = dlerror();
  return text == nullptr ? "the system's loader gives no reason" : text;
}

}  // namespace

Result<std::unique_ptr<SharedObject>> SharedObject::Open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Refused("plugin.load", "it cannot be loaded: " + LoaderMessage());
  return std::unique_ptr<SharedObject>(new SharedObject(handle));
}

SharedObject::~SharedObject() { dlclose(handle_); }

void* SharedObject::Find(const char* symbol) const { return dlsym(handle_, symbol); }

Result<const PluginEntry*> CheckedEntry(const SharedObject& object) {
  const auto function = reinterpret_cast<PluginEntryFunction>(object.Find(kPluginEntryName));
  if (function == nullptr) {
    return Refused("plugin.entry",
                   "it exports no function " + std::string(kPluginEntryName) + ", so it is not a plugin");
  }
  const PluginEntry* entry = function();
  if (entry == nullptr) return Refused("plugin.entry", std::string(kPluginEntryName) + " returned nothing");
  if (entry->abi != kPluginAbi || entry->bytes < sizeof(PluginEntry)) {
    return Refused("plugin.abi",
                   "it speaks version " + std::to_string(entry->abi) + " of the plugin interface with " +
                       std::to_string(entry->bytes) + " bytes; this library speaks version " +
                       std::to_string(kPluginAbi) + " with " + std::to_string(sizeof(PluginEntry)),
                   "build the plugin against this version of partitiontuner");
  }
  const std::string_view tag = entry->build_tag == nullptr ? "nothing" : entry->build_tag;
  if (tag != PT_PLUGIN_BUILD_TAG) {
    return Refused("plugin.build",
                   "it was built with \"" + std::string(tag) + "\", this library with \"" PT_PLUGIN_BUILD_TAG "\"",
                   "build the plugin against this library with the same compiler");
  }
  if (entry->name == nullptr || *entry->name == '\0' || entry->make_backend == nullptr) {
    return Refused("plugin.entry", "its entry has no name or no function that makes its backend");
  }
  return entry;
}

}  // namespace pt
