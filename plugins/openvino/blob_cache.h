// BlobCache: compiled models in files, for the next process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "partitiontuner/support/result.h"

namespace pt::openvino {

// Thread-safe, and so are several processes on one folder. What a file holds is not believed: its key must be the
// whole key that is asked for, and its bytes must have the hash that stands before them.
class BlobCache {
 public:
  struct Options {
    std::string folder;
    uint64_t bytes = uint64_t{1} << 30;  // of all files together: the ones not used for longest go first

    // PARTITIONTUNER_OPENVINO_CACHE: a folder, or "none": nothing is kept (nullopt). Without it
    // $XDG_CACHE_HOME/partitiontuner/openvino or ~/.cache/partitiontuner/openvino; nothing is kept where neither
    // variable is there. PARTITIONTUNER_OPENVINO_CACHE_BYTES: the bound. Errors (kUsage): a bound that is not a number.
    static Result<std::optional<Options>> FromEnvironment();
  };

  explicit BlobCache(Options options) : options_(std::move(options)) {}

  // What was kept under the key; nothing where there is none, or the file is damaged or another key's: then it is
  // removed.
  std::optional<std::string> Find(std::string_view key) const;
  // Writes beside and renames. What cannot be written, or is larger than the bound, is not kept.
  void Keep(std::string_view key, std::string_view blob) const;
  void Remove(std::string_view key) const;

 private:
  std::string PathOf(std::string_view key) const;
  void MakeRoom() const;

  Options options_;
};

}  // namespace pt::openvino
