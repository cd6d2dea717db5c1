#include "lib/profiler/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace pt {

Result<DeviceLock> DeviceLock::Open(const std::string& device) {
  std::string name = "partitiontuner-";
  for (const char c : device) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  const std::string path = (folder / (name + ".lock")).string();
  // Reading suffices for the lock, and another user's file may be opened only without O_CREAT in a shared folder.
  int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) file = open(path.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0) {
    Error failed =
        MakeError(ErrorCode::kInvalidInput, "profiler.lock",
                  "cannot open the lock that keeps two profilers apart: " + std::string(std::strerror(errno)),
                  "set TMPDIR to a folder that can be written");
    failed.file = path;
    return failed;
  }
  return DeviceLock(file);
}

DeviceLock::DeviceLock(DeviceLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

DeviceLock::~DeviceLock() {
  if (file_ >= 0) close(file_);
}

Status DeviceLock::Acquire(const CancelToken* cancel) {
  // Polling, so that a cancel is heard while another process measures; its slices are some milliseconds long.
  while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return MakeError(ErrorCode::kInternal, "profiler.lock",
                       "cannot take the lock that keeps two profilers apart: " + std::string(std::strerror(errno)));
    }
    if (cancel != nullptr && cancel->cancelled()) {
      return MakeError(ErrorCode::kInterrupted, "profiler.cancelled", "cancelled while another process measures");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return {};
}

void DeviceLock::Release() { flock(file_, LOCK_UN); }

Status DeviceLocks::Hold(DeviceId device, const std::function<Status()>& timed) {
  auto lock = locks_.find(device);
  if (lock == locks_.end()) {
    PT_ASSIGN(DeviceLock opened, DeviceLock::Open(platform_.device(device).name));
    lock = locks_.emplace(device, std::move(opened)).first;
  }
  PT_CHECK_OK(lock->second.Acquire(cancel_));
  Status status = timed();
  lock->second.Release();
  return status;
}

}  // namespace pt
