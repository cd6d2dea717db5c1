// Bytes of tensors kept beside the model. Every path is checked as text first, then opened beneath
// the model's folder so that no link leads out of it but into the store of the cache that the folder is part of; only
// regular files are read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "partitiontuner/onnx/load_onnx.h"

namespace pt {

class ExternalData {
 public:
  // folder empty: every read is refused.
  ExternalData(std::string folder, const LoadOptions& options) : folder_(std::move(folder)), options_(options) {}
  ~ExternalData();
  ExternalData(const ExternalData&) = delete;
  ExternalData& operator=(const ExternalData&) = delete;

  // length < 0: to the end of the file. Equal ranges share one buffer; ranges of one file that
  // together exceed its size are refused, so memory stays bounded by what is really there, and by
  // LoadOptions::external_bytes.
  Result<std::shared_ptr<const std::string>> Read(const std::string& location, int64_t offset, int64_t length);

 private:
  struct File {
    int descriptor = -1;
    int64_t size = 0;
    int64_t bytes_read = 0;
    std::map<std::pair<int64_t, int64_t>, std::shared_ptr<const std::string>> ranges;
  };
  Result<File*> Open(const std::string& location);
  Status CheckBudget(const std::string& location, uint64_t more);

  std::string folder_;
  const LoadOptions& options_;
  int folder_descriptor_ = -1;
  uint64_t bytes_read_ = 0;  // of all files
  uint64_t memory_ = 0;      // of the machine; 0: not asked yet
  std::map<std::string, File> files_;
};

// The path with "." and repeated "/" dropped, or why it is refused.
Result<std::string> CheckExternalPath(const std::string& location);

}  // namespace pt
