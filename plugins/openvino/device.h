// A device of OpenVINO as the project's seam has it: memory that it shares with the host, and a queue of requests.
#pragma once

#include <memory>
#include <string>

#include "plugins/openvino/fence.h"
#include "plugins/openvino/runtime.h"
#include "plugins/shared/queue_device.h"

namespace pt::openvino {

inline constexpr const char* kDeviceKind = "openvino";

class OvDriver final : public plugins::QueueDriver {
 public:
  // name: of the platform. ov_device: OpenVINO's.
  OvDriver(DeviceId id, std::string name, std::shared_ptr<Runtime> runtime, std::string ov_device)
      : QueueDriver(id, kName, std::move(name)), runtime_(std::move(runtime)), ov_device_(std::move(ov_device)) {}

  // Memory that device and host share, from the device's context where it has one, else from the host.
  Result<std::unique_ptr<DeviceBuffer>> Allocate(uint64_t bytes) override;

 private:
  const std::shared_ptr<Runtime> runtime_;
  const std::string ov_device_;
};

}  // namespace pt::openvino
