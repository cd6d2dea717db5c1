// A machine-wide lock per device, held while something is timed, so that two profilers do not spoil each other.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "partitiontuner/exec/cancel_token.h"
#include "partitiontuner/platform/platform.h"
#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/support/result.h"

namespace pt {

class DeviceLock {
 public:
  // One lock a device name and machine (a file in the folder for temporary files, which all users can read). Freed by
  // the system when the process ends, however it ends. kInvalidInput ("profiler.lock") with what to do about it when
  // the file cannot be used.
  static Result<DeviceLock> Open(const std::string& device);
  DeviceLock(DeviceLock&& other) noexcept;
  DeviceLock& operator=(DeviceLock&&) = delete;
  ~DeviceLock();

  // Waits for it. kInterrupted when cancelled meanwhile; cancel may be null.
  Status Acquire(const CancelToken* cancel);
  void Release();

 private:
  explicit DeviceLock(int file) : file_(file) {}
  int file_ = -1;
};

// The locks of a platform's devices, each opened when it is first asked for.
class DeviceLocks {
 public:
  // cancel and watch, which is told of waiting, may be null; all must outlive the locks.
  DeviceLocks(const Platform& platform, const CancelToken* cancel, MeasureWatch* watch = nullptr)
      : platform_(platform), cancel_(cancel), watch_(watch) {}

  // Runs `timed` while the device's lock is held. Its status, or why the lock could not be had.
  Status Hold(DeviceId device, const std::function<Status()>& timed);

 private:
  const Platform& platform_;
  const CancelToken* cancel_;
  MeasureWatch* watch_;
  std::map<DeviceId, DeviceLock> locks_;
};

}  // namespace pt
