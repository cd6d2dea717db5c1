#include "test/testing/plugin_libraries.h"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "lib/exec/shared_object.h"

namespace pt::testing {
namespace {

struct OpenPlugins {
  std::vector<std::unique_ptr<SharedObject>> objects;
  std::vector<LibraryRow> rows;
};

template <typename T>
T OrThrow(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(ToString(result.error()));
  return std::move(*result);
}

OpenPlugins OpenAll(const std::string& files) {
  OpenPlugins plugins;
  std::istringstream list(files);
  for (std::string file; std::getline(list, file, ':');) {
    plugins.objects.push_back(OrThrow(SharedObject::Open(file)));
    const Backend backend = OrThrow(CheckedEntry(*plugins.objects.back()))->make_backend();
    plugins.rows.insert(plugins.rows.end(), backend.libraries.begin(), backend.libraries.end());
  }
  return plugins;
}

}  // namespace

std::span<const LibraryRow> PluginLibraries() {
  const char* files = std::getenv("PT_TEST_PLUGINS");
  static const OpenPlugins plugins = OpenAll(files == nullptr ? "" : files);
  return plugins.rows;
}

}  // namespace pt::testing
