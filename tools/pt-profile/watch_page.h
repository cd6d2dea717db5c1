// What the process that measures tells the one that watches it, without ever waking it: a page of memory that both
// have.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/support/json.h"

namespace pt::tools {

// A key that brought a measuring process down.
struct Culprit {
  std::string key;    // MeasurementKey::hash as hexadecimal digits
  std::string label;  // for people
  MeasureFault fault;
};

// The page, and behind it in the same memory the culprits so far. The memory is a file without a name, which a child
// process inherits by its descriptor.
class WatchPage final : public MeasureWatch {
 public:
  static constexpr int kDescriptor = 3;  // of the child

  // For the parent. kOutOfMemory where the system gives none.
  static Result<std::unique_ptr<WatchPage>> Make();
  // For the child, with what it inherited. kUsage where that is not such memory.
  static Result<std::unique_ptr<WatchPage>> Inherited();
  ~WatchPage() override;
  WatchPage(const WatchPage&) = delete;

  int descriptor() const { return file_; }

  // The child's side.
  void Begin(const MeasurementKey& key, std::string_view label) noexcept override;
  void End() noexcept override;
  void Wait(bool waits) noexcept override;
  // kInvalidInput where the parent's text cannot be read.
  Result<std::vector<Culprit>> Culprits() const;

  // The parent's side. What the child was at when it said so last; empty key: nothing of a key.
  struct AtWork {
    std::string key, label;
    int64_t for_ns = 0;  // since it began, or since it waited no longer; 0 while it waits
  };
  AtWork at_work() const;
  // For the next child.
  Status Tell(const std::vector<Culprit>& culprits);
  void Clear();

 private:
  struct Page;
  WatchPage(int file, Page& page) : file_(file), page_(page) {}
  static Result<std::unique_ptr<WatchPage>> Map(int file);

  const int file_;
  Page& page_;
};

}  // namespace pt::tools
