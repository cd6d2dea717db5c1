#include "plugins/onnxruntime/loading.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

namespace pt::onnxruntime {
namespace {

namespace fs = std::filesystem;
constexpr const char* kSoname = "libonnxruntime.so.1";

Error Unusable(const char* id, std::string message, const fs::path& file = {}) {
  Error error = MakeError(
      ErrorCode::kDeviceUnusable, id, std::move(message),
      std::string("install ONNX Runtime, or let ") + kPlaceVariable + " name its shared object or the folder of it");
  error.file = file.string();
  error.device = kName;
  return error;
}

// In a folder as packages and wheels have it: libonnxruntime.so, .so.1 or .so.1.32.0; the shortest of them.
fs::path FileIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("libonnxruntime.so")) names.push_back(name);
  }
  return names.empty() ? fs::path() : folder / *std::ranges::min_element(names);
}

fs::path FolderOfThisPlugin() {
  Dl_info found;
  const bool known = dladdr(reinterpret_cast<const void*>(&FolderOfThisPlugin), &found) != 0;
  return known && found.dli_fname != nullptr ? fs::path(found.dli_fname).parent_path() : fs::path();
}

Result<std::string> FileToOpen(const std::string& place) {
  std::error_code problem;
  if (place.empty()) {
    const fs::path beside = FileIn(FolderOfThisPlugin());
    return beside.empty() ? std::string(kSoname) : beside.string();
  }
  if (!fs::is_directory(place, problem)) return place;
  const fs::path found = FileIn(place);
  if (found.empty()) return Unusable("onnxruntime.absent", "there is no libonnxruntime.so in the folder", place);
  return found.string();
}

// Of "1.32.0" the second number, which is that of its newest API; 0 where there is none.
unsigned NewestApi(std::string_view version) {
  const size_t dot = version.find('.');
  unsigned number = 0;
  if (version.starts_with("1.")) std::from_chars(version.data() + dot + 1, version.data() + version.size(), number);
  return number;
}

}  // namespace

Result<LoadedRuntime> LoadRuntime(const std::string& place) {
  PT_ASSIGN(const std::string file, FileToOpen(place));
  // Never closed: its threads and what it keeps for each thread may outlive any library.
  void* const object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (object == nullptr) {
    const char* const why = dlerror();
    return Unusable("onnxruntime.load", std::string("ONNX Runtime cannot be loaded: ") + (why ? why : file.c_str()),
                    file);
  }
  const auto base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(object, "OrtGetApiBase"));
  if (base == nullptr) return Unusable("onnxruntime.load", "there is no OrtGetApiBase in the shared object", file);
  LoadedRuntime runtime;
  const char* const version = base()->GetVersionString();
  runtime.version = version == nullptr ? "" : version;
  runtime.api_version = std::min<uint32_t>(NewestApi(runtime.version), ORT_API_VERSION);
  // Not asked for an API that it does not have, about which it would print a line.
  if (runtime.api_version >= kOldestApi) runtime.api = base()->GetApi(runtime.api_version);
  if (runtime.api == nullptr) {
    return Unusable("onnxruntime.old",
                    "ONNX Runtime " + (runtime.version.empty() ? "of no version" : runtime.version) +
                        " is older than 1." + std::to_string(kOldestApi) + ", which this plugin needs",
                    file);
  }
  return runtime;
}

Result<LoadedRuntime> LoadRuntime() {
  const char* const place = std::getenv(kPlaceVariable);
  return LoadRuntime(place == nullptr ? std::string() : std::string(place));
}

}  // namespace pt::onnxruntime
