#include "lib/exec/lost_devices.h"

#include <algorithm>
#include <chrono>

namespace pt {

bool IsAtRest(Stream& stream) {
  const Result<bool> idle = stream.Synchronize(std::chrono::nanoseconds(0));
  return !idle.ok() || *idle;
}

Error DeviceHung(const std::string& device, std::string message) {
  Error error = MakeError(ErrorCode::kRunFailed, "device.hung", "device " + device + " " + std::move(message),
                          "the device is lost to this process: start the process anew");
  error.device = device;
  return error;
}

LostDevices::~LostDevices() {
  for (std::unique_ptr<DeviceWork>& work : kept_) {
    if (!work->IsIdle()) static_cast<void>(work.release());
  }
}

void LostDevices::Mark(DeviceId device) {
  const std::lock_guard lock(mutex_);
  lost_[device.index()] = true;
}

bool LostDevices::IsLost(DeviceId device) const {
  const std::lock_guard lock(mutex_);
  return lost_[device.index()];
}

void LostDevices::Keep(std::unique_ptr<DeviceWork> work) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(work));
}

bool LostDevices::IsAnyAtWork() {
  const std::lock_guard lock(mutex_);
  return std::any_of(kept_.begin(), kept_.end(), [](const auto& work) { return !work->IsIdle(); });
}

}  // namespace pt
