// The plugin "onnxruntime": a library that hands groups to ONNX Runtime. docs/onnxruntime.md.
#include "partitiontuner/backend/plugin.h"

#include "plugins/onnxruntime/discover.h"
#include "plugins/onnxruntime/library.h"
#include "plugins/shared/call_stream.h"
#include "plugins/shared/cores.h"

namespace {

std::unique_ptr<pt::Library> MakeLibrary() {
  return std::make_unique<pt::onnxruntime::OnnxRuntimeLibrary>(pt::onnxruntime::OrtRuntime::Get());
}

pt::Status Discover(const pt::DiscoverRequest& request, pt::Platform& platform) {
  PT_ASSIGN(const auto runtime, pt::onnxruntime::OrtRuntime::Get());
  return pt::onnxruntime::AddDevices(*runtime, request, platform);
}

pt::Result<std::unique_ptr<pt::DeviceDriver>> MakeDriver(const pt::Platform& platform, pt::DeviceId id) {
  return std::unique_ptr<pt::DeviceDriver>(std::make_unique<pt::plugins::CallDriver>(
      id, pt::onnxruntime::kName, platform.device(id).name, pt::plugins::HostCores(platform)));
}

pt::Backend MakeBackend() {
  using pt::onnxruntime::kName;
  return {kName,
          {{kName, "providers of ONNX Runtime beside the host's", false, Discover, MakeDriver}},
          {{kName, "ONNX Runtime on host units and on its providers' devices", MakeLibrary}}};
}

}  // namespace

PT_PLUGIN(pt::onnxruntime::kName, MakeBackend)
