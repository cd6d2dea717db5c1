// ONNX Runtime's shared object, opened while the program runs.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstdint>
#include <string>

#include "partitiontuner/support/result.h"

namespace pt::onnxruntime {

inline constexpr const char* kName = "onnxruntime";
// The environment variable that names the shared object, or the folder that it lies in.
inline constexpr const char* kPlaceVariable = "PARTITIONTUNER_ONNXRUNTIME";

// The API that all of this plugin is written with: functions that came later would have to be asked for by
// LoadedRuntime::api_version.
inline constexpr uint32_t kOldestApi = 18;

struct LoadedRuntime {
  const OrtApi* api = nullptr;  // of api_version: the functions behind that are not there
  uint32_t api_version = 0;     // from kOldestApi to ORT_API_VERSION
  std::string version;          // "1.32.0"
};

// Looks in `place`, a file or a folder, and nowhere else; without one beside this plugin, then where the system's
// loader looks. The shared object stays in the process for ever, and no other code sees what it defines: a program
// may use another ONNX Runtime of its own. It may be older or newer than the headers that this plugin was built with.
// Thread-safe. Errors (kDeviceUnusable): none there, one that cannot be loaded, one without the API of kOldestApi.
Result<LoadedRuntime> LoadRuntime(const std::string& place);
// The same with what kPlaceVariable says.
Result<LoadedRuntime> LoadRuntime();

}  // namespace pt::onnxruntime
