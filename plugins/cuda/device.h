// A CUDA device: what is found, and its driver.
#pragma once

#include <memory>

#include "partitiontuner/backend/backends.h"
#include "plugins/cuda/blas.h"
#include "plugins/cuda/context.h"
#include "plugins/cuda/dnn.h"
#include "plugins/cuda/monitor.h"
#include "plugins/cuda/programs.h"

namespace pt::cuda {

inline constexpr const char* kDeviceKind = "cuda";

// Adds every device that the driver knows as "cuda:N", with kStreams streams and a copy engine each way; no context is
// made. None is no error. Errors (kDeviceUnusable): the driver cannot be used ("cuda.init") or is older than the
// toolkit that this was built with ("cuda.old_driver"); a device cannot be used ("cuda.device"), with the reason.
Status AddDevices(const Functions& functions, Platform& platform);
// The driver's number of "cuda:3". kDeviceUnusable ("cuda.device") where the name is none of a CUDA device.
Result<int> OrdinalOf(const std::string& name);
// The fingerprint that AddDevices gives the device of that number. Errors as AddDevices.
Result<std::string> FingerprintOf(const Functions& functions, int ordinal);

class CudaDriver : public DeviceDriver, public TellsState {
 public:
  // Of a device that AddDevices has found.
  static Result<std::unique_ptr<CudaDriver>> Make(std::shared_ptr<const Functions> functions, const Platform& platform,
                                                  DeviceId id);

  DeviceId id() const override { return id_; }
  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override;
  Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) override;
  Result<std::unique_ptr<Stream>> MakeStream() override;
  Result<std::unique_ptr<Event>> MakeEvent() override;
  // The peer is the host: other devices are reached by way of it.
  Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                     DeviceId peer) override;
  bool CanCapture() const override { return true; }
  // NVML is asked for the device when the state is asked for first. Thread-safe.
  std::optional<DeviceState> State() const override;

  const std::shared_ptr<Context>& context() const { return context_; }
  Programs& programs() { return programs_; }
  // cuBLASLt on this device; made when it is asked for first. Thread-safe.
  Result<std::shared_ptr<const Blas>> blas();
  // cuDNN on this device, likewise. kUnsupported ("cuda.dnn") where there is no cuDNN.
  Result<std::shared_ptr<const DnnDevice>> dnn();

 private:
  CudaDriver(DeviceId id, std::shared_ptr<const Functions> functions, int ordinal, std::shared_ptr<Context> context)
      : id_(id),
        functions_(std::move(functions)),
        ordinal_(ordinal),
        context_(std::move(context)),
        programs_(context_) {}

  const DeviceId id_;
  const std::shared_ptr<const Functions> functions_;
  const int ordinal_;  // the driver's number of the device
  const std::shared_ptr<Context> context_;
  Programs programs_;
  std::mutex mutex_;
  std::shared_ptr<const Blas> blas_;  // null before it was asked for
  std::shared_ptr<const DnnDevice> dnn_;
  mutable std::once_flag monitor_made_;
  mutable std::unique_ptr<const Monitor> monitor_;  // null where there is none
};

inline CUdeviceptr DeviceAddress(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }

}  // namespace pt::cuda
