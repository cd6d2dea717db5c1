// What keeps exceptions of plugins on their side: every call into one is made here.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "partitiontuner/backend/backend.h"

namespace pt {

// What went wrong where an interface has no way to say so. Thread-safe.
class FaultLog {
 public:
  void Note(Error error);  // the first one stays
  Status first() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Error> first_;
};

// kInternal: the plugin threw out of `where`.
Error PluginThrew(std::string_view plugin, std::string_view where, const char* what);

// call(), which returns a Result; an exception becomes an error.
template <typename Call>
auto CallPlugin(std::string_view plugin, std::string_view where, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return PluginThrew(plugin, where, thrown.what());
  } catch (...) {
    return PluginThrew(plugin, where, "something that is not a std::exception");
  }
}

// The library, with every exception that leaves it or its kernels' Bind made an error; where its interface knows no
// errors it goes into the log, and the answer is "nothing".
std::unique_ptr<Library> MakeGuardedLibrary(std::string plugin, std::unique_ptr<Library> library,
                                            std::shared_ptr<FaultLog> faults);

}  // namespace pt
