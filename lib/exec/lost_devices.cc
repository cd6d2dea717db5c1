#include "lib/exec/lost_devices.h"

#include <algorithm>

namespace pt {

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
