// Monitor: asks NVML for the clocks and the temperature of one device.
#pragma once

#include <memory>
#include <optional>

#include "partitiontuner/backend/device_state.h"
#include "plugins/cuda/functions.h"

namespace pt::cuda {

class Monitor {
 public:
  // ordinal: the driver's number of the device; NVML counts other devices than a process may see. Null where there is
  // no NVML or it does not know the device.
  static std::unique_ptr<Monitor> Make(std::shared_ptr<const Functions> functions, int ordinal);

  // Thread-safe. Empty where NVML tells nothing at all.
  std::optional<DeviceState> State() const;

 private:
  Monitor(std::shared_ptr<const Functions> functions, nvmlDevice_t device)
      : functions_(std::move(functions)), device_(device) {}

  const std::shared_ptr<const Functions> functions_;
  const nvmlDevice_t device_;
};

}  // namespace pt::cuda
