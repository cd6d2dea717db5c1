// The plugin "onnxruntime": a library that hands groups to ONNX Runtime. docs/onnxruntime.md.
#include "partitiontuner/backend/plugin.h"

#include "plugins/onnxruntime/library.h"

namespace {

std::unique_ptr<pt::Library> MakeLibrary() {
  return std::make_unique<pt::onnxruntime::OnnxRuntimeLibrary>(pt::onnxruntime::Runtime::Get());
}

// Says why ONNX Runtime cannot be used. Its providers beyond the CPU's become no devices: its C API starts runs on
// them, but hands out no streams and events that other steps could wait for.
pt::Status FindProviders(const pt::DiscoverRequest&, pt::Platform&) {
  const auto runtime = pt::onnxruntime::Runtime::Get();
  return runtime.ok() ? pt::Status() : runtime.error();
}

pt::Result<std::unique_ptr<pt::DeviceDriver>> MakeDriver(const pt::Platform& platform, pt::DeviceId id) {
  return pt::MakeError(pt::ErrorCode::kDeviceUnusable, "onnxruntime.device",
                       "\"" + platform.device(id).name + "\" is no device of ONNX Runtime");
}

pt::Backend MakeBackend() {
  using pt::onnxruntime::kName;
  return {kName,
          {{kName, "providers of ONNX Runtime", false, FindProviders, MakeDriver}},
          {{kName, "ONNX Runtime's CPU provider on host units", MakeLibrary}}};
}

}  // namespace

PT_PLUGIN(pt::onnxruntime::kName, MakeBackend)
