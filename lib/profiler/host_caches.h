// Brings the caches of all cores into the state that a step of a run finds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/profiler/subject.h"
#include "partitiontuner/exec/unit_runner.h"

namespace pt {

class HostCaches {
 public:
  // reuse_distance: bytes touched between two uses of a constant; from InMemoryDistance on no cache keeps it.
  static Result<std::unique_ptr<HostCaches>> Make(Machine& machine, uint64_t reuse_distance);

  // Before every sample. The cores touch as much other memory as a run does between two uses of a constant (or push the
  // constants out of all caches, when no cache would keep them). Then every core writes every so-many-th block of the
  // outputs, and after that of the inputs: the steps before have left a tensor's lines in the caches of all the cores
  // that worked on it, and to take them over costs more than to compute on one's own. Work without constants only
  // finds the private caches disturbed.
  Status Prepare(const Subject& subject);

 private:
  HostCaches(std::unique_ptr<UnitRunner> all_cores, uint32_t cores, uint64_t reuse_distance, bool in_memory);
  void PrepareOn(Team& team, const Subject& subject);

  std::unique_ptr<UnitRunner> all_cores_;
  uint32_t cores_;
  bool in_memory_;
  size_t bytes_per_core_ = 0, bytes_without_constants_ = 0;  // touched by each core
  std::vector<std::byte> junk_;
  std::vector<uint64_t> sums_;  // what was read, so that reading is not dropped
};

}  // namespace pt
