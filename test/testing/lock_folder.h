// A folder of its own for the lock files of this process, for as long as the object lives.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "test/testing/test_data.h"

namespace pt::testing {

class OwnLockFolder {
 public:
  OwnLockFolder() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    chmod(folder_.file("").c_str(), 0755);
    setenv("TMPDIR", folder_.file("").c_str(), 1);
  }
  ~OwnLockFolder() { before_ ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR"); }
  OwnLockFolder(const OwnLockFolder&) = delete;
  OwnLockFolder& operator=(const OwnLockFolder&) = delete;

  // Where the lock of a device with a plain name lies.
  std::string lock_file(const std::string& device) const { return folder_.file("partitiontuner-" + device + ".lock"); }

 private:
  TemporaryFolder folder_;
  std::optional<std::string> before_;
};

}  // namespace pt::testing
