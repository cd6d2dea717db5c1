#include "lib/profiler/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace pt {

namespace {

constexpr mode_t kForAllToRead = 0644;  // reading suffices for a lock

int OpenUninterrupted(const char* path, int flags) {
  int file = -1;
  do {
    file = open(path, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kForAllToRead);
  } while (file < 0 && errno == EINTR);
  return file;
}

Error Unusable(const std::string& device, const std::string& path, const std::string& why) {
  Error error = MakeError(ErrorCode::kInvalidInput, "profiler.lock",
                          "cannot open the lock file that keeps two profilers of " + device + " apart: " + why);
  error.file = path;
  error.device = device;
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    error.hint = "set TMPDIR to a folder that exists and can be written";
  } else if (S_ISREG(status.st_mode)) {
    error.message += "; it belongs to user " + std::to_string(status.st_uid);
    error.hint =
        "let that user call chmod a+r on it, or delete it while nobody profiles; with another TMPDIR nothing "
        "keeps the two of you apart";
  } else {
    error.hint = "remove it: it is not a lock file";
  }
  return error;
}

}  // namespace

Result<DeviceLock> DeviceLock::Open(const std::string& device) {
  std::string name = "partitiontuner-";
  for (const char c : device) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  std::error_code no_folder;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(no_folder);
  if (no_folder) return Unusable(device, name + ".lock", "no folder for temporary files: " + no_folder.message());
  const std::string path = (folder / (name + ".lock")).string();
  // Another user's file in a shared folder may be opened only without O_CREAT.
  int file = OpenUninterrupted(path.c_str(), 0);
  if (file < 0 && errno == ENOENT) {
    file = OpenUninterrupted(path.c_str(), O_CREAT);
    // Whatever this process masks, the next user must be able to open it. Who finds another's file leaves it as it is.
    if (file >= 0) static_cast<void>(fchmod(file, kForAllToRead));
  }
  if (file < 0) return Unusable(device, path, std::strerror(errno));
  struct stat status {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return Unusable(device, path, "it is not a regular file");
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
  if (watch_ != nullptr) watch_->Wait(true);
  Status acquired = lock->second.Acquire(cancel_);
  if (watch_ != nullptr) watch_->Wait(false);
  PT_CHECK_OK(std::move(acquired));
  Status status = timed();
  lock->second.Release();
  return status;
}

}  // namespace pt
