// A CUDA device: what is found, and its driver.
#pragma once

#include <map>
#include <memory>

#include "partitiontuner/backend/backends.h"
#include "plugins/cuda/blas.h"
#include "plugins/cuda/context.h"
#include "plugins/cuda/dnn.h"
#include "plugins/cuda/monitor.h"
#include "plugins/cuda/programs.h"

namespace pt::cuda {

inline constexpr const char* kDeviceKind = "cuda";

// Adds every device that the driver knows as "cuda:N", with kStreams streams and a copy engine each way, then a link,
// with its copy engine, for each ordered pair of them of which the first can write to the second's memory; no context
// is made. None is no error. Errors (kDeviceUnusable): the driver cannot be used ("cuda.init") or is older than the
// toolkit that this was built with ("cuda.old_driver"); a device cannot be used ("cuda.device"), with the reason.
Status AddDevices(const Functions& functions, Platform& platform);
// The driver's number of "cuda:3". kDeviceUnusable ("cuda.device") where the name is none of a CUDA device.
Result<int> OrdinalOf(const std::string& name);
// The fingerprint that AddDevices gives the device of that number. Errors as AddDevices.
Result<std::string> FingerprintOf(const Functions& functions, int ordinal);

class CudaDriver : public DeviceDriver, public TellsState {
 public:
  // Of a device that AddDevices has found. Only devices that have a link to this one in the platform get access to its
  // memory.
  static Result<std::unique_ptr<CudaDriver>> Make(std::shared_ptr<const Functions> functions, const Platform& platform,
                                                  DeviceId id);

  DeviceId id() const override { return id_; }
  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override;
  Result<std::unique_ptr<DeviceBuffer>> AllocateHost(uint64_t bytes) override;
  Result<std::unique_ptr<Stream>> MakeStream() override;
  Result<std::unique_ptr<Event>> MakeEvent() override;
  Result<std::unique_ptr<Event>> MakeUntimedEvent() override;
  // The peer is the host or a device that this one CanReach, whose memory it then reads or writes by itself. Errors as
  // Context::Do; kUsage: "cuda.other_device", "cuda.link" (no such link in the platform); "cuda.lost" of the peer.
  Status EnqueueCopy(Stream& stream, void* to, const void* from, uint64_t bytes, CopyDirection direction,
                     DeviceId peer) override;
  // Of any CUDA device of this process, but not within a capture: see CudaStream.
  bool CanWaitFor(const DeviceDriver& other) const override;
  // Where the platform has a link from this device to that one.
  bool CanReach(const DeviceDriver& other) const override;
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
  using Names = std::map<DeviceId, std::string>;
  CudaDriver(DeviceId id, Names reached, std::shared_ptr<const Functions> functions, int ordinal,
             std::shared_ptr<Context> context)
      : id_(id),
        reached_(std::move(reached)),
        functions_(std::move(functions)),
        ordinal_(ordinal),
        context_(std::move(context)),
        programs_(context_) {}

  const DeviceId id_;
  const Names reached_;  // the CUDA devices whose memory this one reads and writes
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
