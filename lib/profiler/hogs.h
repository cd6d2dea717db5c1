// Hogs: what keeps the machine's other cores busy while something is timed, to see how much longer it takes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "partitiontuner/exec/unit_runner.h"

namespace pt {

class Hogs {
 public:
  enum class Kind : uint8_t {
    kMemory,   // each reads and writes a part of more than the last cache holds, again and again
    kCompute,  // each does arithmetic in registers
  };
  // `count` of them at once.
  Hogs(Kind kind, uint32_t count, const Platform& platform);

  // Sends them to work; of use for one UnitRunner::RunBeside.
  UnitRunner::Others AsOthers();
  // From the body of that call: returns once all are at work.
  void AwaitAll() const;
  // What the memory hogs have read and written since AsOthers, all together.
  double bytes() const { return static_cast<double>(bytes_.load(std::memory_order_relaxed)); }
  uint32_t count() const { return count_; }

 private:
  void UseMemory(uint32_t number, const std::function<bool()>& over);
  void Compute(uint32_t number, const std::function<bool()>& over);

  const Kind kind_;
  const uint32_t count_;
  size_t bytes_of_each_ = 0;
  std::vector<std::byte> memory_;
  std::vector<float> computed_;  // by hog: so that nothing is dropped
  std::atomic<uint32_t> at_work_{0};
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace pt
