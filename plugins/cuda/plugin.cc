// The entry of the plugin "cuda": docs/cuda.md.
#include "partitiontuner/backend/plugin.h"

#include "plugins/cuda/device.h"
#include "plugins/cuda/libraries.h"

namespace pt::cuda {
namespace {

Status Discover(const DiscoverRequest& request, Platform& platform) {
  if (!request.described.empty()) {
    Error error = MakeError(ErrorCode::kInvalidInput, "cuda.described",
                            "a CUDA device is found, it cannot be described by a file",
                            "a file of the whole machine (--print-platform) can be planned for anywhere");
    error.file = request.described.front().what;
    return error;
  }
  PT_ASSIGN(const std::shared_ptr<const Functions> functions, LoadFunctions());
  return AddDevices(*functions, platform);
}

Result<std::unique_ptr<DeviceDriver>> MakeDriver(const Platform& platform, DeviceId id) {
  PT_ASSIGN(std::shared_ptr<const Functions> functions, LoadFunctions());
  PT_ASSIGN(std::unique_ptr<CudaDriver> driver, CudaDriver::Make(std::move(functions), platform, id));
  return std::unique_ptr<DeviceDriver>(std::move(driver));
}

// Where there is no driver, no device is found that it could be asked about.
std::unique_ptr<Library> MakeDnn() {
  Result<std::shared_ptr<const Functions>> functions = LoadFunctions();
  return MakeDnnLibrary(functions.ok() ? std::move(functions).value() : nullptr);
}

Backend MakeBackend() {
  return {"cuda",
          {{kDeviceKind, "NVIDIA devices through the CUDA driver", false, Discover, MakeDriver}},
          {{"cublaslt", "matrix products on CUDA devices by cuBLASLt", MakeProductsLibrary},
           {"cudnn", "convolutions, pooling and normalisations on CUDA devices by cuDNN", MakeDnn},
           {"cuda", "own kernels on CUDA devices, compiled while the program runs", MakeOwnKernelsLibrary}}};
}

}  // namespace
}  // namespace pt::cuda

PT_PLUGIN("cuda", pt::cuda::MakeBackend)
