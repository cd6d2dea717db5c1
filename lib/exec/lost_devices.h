// LostDevices: devices of a machine that did not finish what they had begun. No run uses them again, and what they may
// still write to lives on.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "partitiontuner/backend/backend.h"

namespace pt {

// Something that a lost device may still work on.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  virtual bool IsIdle() = 0;  // the device has let go of it
};

// Nothing of the stream's work is left, even if it failed. Does not wait.
bool IsAtRest(Stream& stream);

// Why a run or copy ends with a device that is lost by now.
Error DeviceHung(const std::string& device, std::string message);

// Thread-safe.
class LostDevices {
 public:
  explicit LostDevices(size_t devices) : lost_(devices, false) {}
  // Destroys what devices have let go of. The rest is never freed: a device that hangs may write to it at any time.
  ~LostDevices();

  void Mark(DeviceId device);
  bool IsLost(DeviceId device) const;
  void Keep(std::unique_ptr<DeviceWork> work);
  // True when a device still works on something that was kept.
  bool IsAnyAtWork();

 private:
  mutable std::mutex mutex_;
  std::vector<bool> lost_;
  std::vector<std::unique_ptr<DeviceWork>> kept_;
};

}  // namespace pt
