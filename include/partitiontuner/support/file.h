// Reading files, whole under a size limit or at any place, and atomic writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "partitiontuner/support/result.h"

namespace pt {

// Reads a regular file of at most max_bytes (0 = no limit). kInvalidInput otherwise, with path and reason.
Result<std::string> ReadFile(const std::string& path, uint64_t max_bytes);

// A regular file, open for reading at any place. Thread-safe.
class InputFile {
 public:
  // kInvalidInput, with path and reason, when it cannot be opened or is not a regular file.
  static Result<InputFile> Open(const std::string& path);
  InputFile(InputFile&& other) noexcept : path_(std::move(other.path_)), fd_(other.fd_), size_(other.size_) {
    other.fd_ = -1;
  }
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  uint64_t size() const { return size_; }  // when it was opened
  // Fills all of `to`. kInvalidInput when the file ends before that or cannot be read.
  Status ReadAt(uint64_t offset, std::span<std::byte> to) const;

 private:
  InputFile(std::string path, int fd, uint64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}
  std::string path_;
  int fd_;
  uint64_t size_;
};

// Writes to a temporary file beside `path`, syncs, renames: old or new content, never torn. "-" is not
// treated specially. Errors carry the path and the system's reason (disk full: kInvalidInput too).
Status WriteFileAtomically(const std::string& path, std::string_view content);

}  // namespace pt
