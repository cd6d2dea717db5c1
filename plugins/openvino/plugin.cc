// The plugin "openvino": a library that hands groups to OpenVINO, and OpenVINO's devices. docs/openvino.md.
#include "partitiontuner/backend/plugin.h"

#include "plugins/openvino/device.h"
#include "plugins/openvino/discover.h"
#include "plugins/openvino/fence.h"
#include "plugins/openvino/library.h"

namespace pt::openvino {
namespace {

Status Discover(const DiscoverRequest& request, Platform& platform) {
  PT_ASSIGN(const std::shared_ptr<Runtime> runtime, Runtime::Get());
  return AddDevices(*runtime, request, platform);
}

Result<std::unique_ptr<DeviceDriver>> MakeDriver(const Platform& platform, DeviceId id) {
  PT_ASSIGN(std::shared_ptr<Runtime> runtime, Runtime::Get());
  const Device& device = platform.device(id);
  return std::unique_ptr<DeviceDriver>(
      std::make_unique<OvDriver>(id, device.name, std::move(runtime), OvNameOf(device)));
}

std::unique_ptr<Library> MakeLibrary() { return std::make_unique<OpenVinoLibrary>(Runtime::Get()); }

Backend MakeBackend() {
  return {kName,
          {{kDeviceKind, "OpenVINO's GPUs and NPUs", false, Discover, MakeDriver}},
          {{kName, "OpenVINO on host units and on its devices", MakeLibrary}}};
}

}  // namespace
}  // namespace pt::openvino

PT_PLUGIN(pt::openvino::kName, pt::openvino::MakeBackend)
