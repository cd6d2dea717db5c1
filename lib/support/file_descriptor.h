// An open file of the operating system, closed at the end of its owner's life; and errors that name a file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "partitiontuner/support/result.h"

namespace pt {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  // Closes and says whether the system reported a late write error.
  bool Close() { return ::close(Release()) == 0; }

 private:
  int fd_;
};

inline Error FileError(const std::string& path, std::string id, std::string what) {
  Error error = MakeError(ErrorCode::kInvalidInput, std::move(id), std::move(what));
  error.file = path;
  return error;
}

inline Error SystemError(const std::string& path, std::string id, const std::string& what, int code) {
  return FileError(path, std::move(id), what + ": " + std::strerror(code));
}

}  // namespace pt
