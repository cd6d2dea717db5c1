// Brings the caches of all cores into the state that a step of a run finds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/profiler/code_walk.h"
#include "lib/profiler/host_cores.h"
#include "lib/profiler/subject.h"

namespace pt {

class HostCaches {
 public:
  // reuse_distance: bytes touched between two runs of a step; from InMemoryDistance on no cache keeps it. The cores
  // must outlive it.
  HostCaches(HostCores& cores, const Platform& platform, uint64_t reuse_distance);

  // Before every sample of a kernel that runs on `own`, cores as HostCores counts them. The unit's own cores write what
  // is the caller's of outputs and inputs, as the run before has used them. Then all cores touch as much other memory
  // as a run does between two runs of a step (and push the constants out of all caches, when no cache would keep them).
  // Then the unit's own cores write the other outputs, and after that the other inputs, in turns of a block each: a
  // step finds what the steps before it on the same unit have left. Last they go through other code than the kernel's.
  // What it takes longer to read what others made is a cost of its own: CostModel::FetchCost.
  Status Prepare(const Subject& subject, std::span<const uint32_t> own);

 private:
  enum class Whose : uint8_t { kCallers, kOfThePlan };
  static void Write(Team& team, const Subject& subject, Whose whose, std::span<const uint32_t> own);
  void Disturb(Team& team, const Subject& subject);

  HostCores& cores_;
  CodeWalk code_walk_;
  bool in_memory_;
  size_t bytes_per_core_ = 0;  // touched by each core
  std::vector<std::byte> junk_;
  std::vector<uint64_t> sums_;  // what was read, so that reading is not dropped
};

// Every so-many-th block of memory belongs to each of some cores: calls use(at, bytes) for those of the core.
template <typename F>
void ForBlocksOf(size_t core, size_t cores, size_t bytes, const F& use) {
  constexpr size_t kBlock = 4096;
  for (size_t at = core * kBlock; at < bytes; at += cores * kBlock) use(at, std::min(kBlock, bytes - at));
}

}  // namespace pt
