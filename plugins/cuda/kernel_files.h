// Compiled kernels, kept in files from process to process.
#pragma once

#include <optional>
#include <string>

#include "partitiontuner/support/hash.h"

namespace pt::cuda {

// A folder of kernels, one a file, named by what they were made from. A file is believed only when all of that stands
// in it and its image is the one that was written; anything else is as if it were not there. Thread-safe, and safe with
// other processes that use the same folder.
class KernelFiles {
 public:
  // folder: made when something is kept first; empty: nothing is kept.
  explicit KernelFiles(std::string folder) : folder_(std::move(folder)) {}
  // ${XDG_CACHE_HOME:-~/.cache}/partitiontuner/cuda-kernels
  static std::string DefaultFolder();

  // made_from: all that decides what the image is: text, architecture, options, versions.
  std::optional<std::string> Find(const std::string& made_from) const;
  // Where nothing can be written, nothing is kept.
  void Keep(const std::string& made_from, const std::string& image) const;

 private:
  std::string PathOf(const std::string& made_from) const;
  void MakeRoom() const;

  const std::string folder_;
};

}  // namespace pt::cuda
