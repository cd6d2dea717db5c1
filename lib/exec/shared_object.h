// SharedObject: a shared object of the process, open as long as this lives.
#pragma once

#include <memory>
#include <string>

#include "partitiontuner/backend/plugin.h"
#include "partitiontuner/support/result.h"

namespace pt {

class SharedObject {
 public:
  // Errors (kDeviceUnusable): the system's loader refuses it, with its reason.
  static Result<std::unique_ptr<SharedObject>> Open(const std::string& path);
  ~SharedObject();
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  void* Find(const char* symbol) const;  // null when absent

 private:
  explicit SharedObject(void* handle) : handle_(handle) {}
  void* handle_;
};

// The entry of a plugin, checked to fit this library: nothing of C++ in it was touched. Errors (kDeviceUnusable): no
// entry, another layout, another build, no name.
Result<const PluginEntry*> CheckedEntry(const SharedObject& object);

}  // namespace pt
