// OutputFile: a file that has its name only once it is whole.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "partitiontuner/support/result.h"

namespace pt {

// Writes to a temporary file beside `path`, which Commit gives the name: readers find the old content or the new one,
// never a part. What is never committed is removed. Errors (kInvalidInput) carry the path and the system's reason (disk
// full too); after one nothing but destruction makes sense. One caller at a time.
class OutputFile {
 public:
  // Errors also for a path that is there and no regular file: renaming over a link, device or FIFO would silently
  // change what the name means. A file that is replaced hands on its permissions.
  static Result<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status Write(std::span<const std::byte> bytes);
  // To disk, all of it. With several files that belong together: finish each before the first Commit, which then has
  // nothing left to fail at but the renaming.
  Status Finish();
  Status Commit();  // finishes when that was not done
  // The file that this one replaces, if there is one, is gone from now on, on disk too.
  Status RemoveReplaced();

  const std::string& path() const { return path_; }
  bool replaces() const { return replaces_; }  // there was a file of that name when this one was made

 private:
  OutputFile(std::string path, std::string temporary, int fd, bool replaces)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd), replaces_(replaces) {}

  std::string path_, temporary_;  // temporary_ empty: committed, or moved from
  int fd_;                        // -1: finished
  bool replaces_;
};

}  // namespace pt
