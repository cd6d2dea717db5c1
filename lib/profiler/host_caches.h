// Brings the caches of all cores into the state that a step of a run finds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lib/profiler/code_walk.h"
#include "lib/profiler/host_cores.h"
#include "lib/profiler/subject.h"
#include "partitiontuner/support/even_share.h"

namespace pt {

constexpr size_t kCacheLineBytes = 64;

class HostCaches {
 public:
  // reuse_distance: bytes that a run touches; from InMemoryDistance on no cache keeps it. The cores
  // must outlive it.
  HostCaches(HostCores& cores, const Platform& platform, uint64_t reuse_distance);

  // Before every sample of a kernel that runs on `own`, cores as HostCores counts them. The unit's own cores write what
  // is the caller's of outputs and inputs, as the run before has used them. Then all cores touch as much other memory
  // as a run does between two runs of this step (and push the constants out of all caches, when no cache would keep
  // them). Then the unit's own cores write the other outputs, and after that the other inputs, a stretch each: a step
  // finds what the steps before it on the same unit have left. Last they go through other code than the kernel's.
  // What it takes longer to read what others made is a cost of its own: PairCost::fetch.
  Status Prepare(const Subject& subject, std::span<const uint32_t> own) { return PrepareFor(subject, own, own); }
  // The same, but `makers` write the inputs that are not the caller's: a step finds what another unit has left.
  Status PrepareFor(const Subject& subject, std::span<const uint32_t> own, std::span<const uint32_t> makers);

 private:
  enum class Whose : uint8_t { kCallers, kOfThePlan };
  static void WriteOutputs(Team& team, const Subject& subject, Whose whose, std::span<const uint32_t> writers);
  static void WriteInputs(Team& team, const Subject& subject, Whose whose, std::span<const uint32_t> writers);
  void Disturb(Team& team, const Subject& subject);

  HostCores& cores_;
  CodeWalk code_walk_;
  bool in_memory_;
  std::vector<std::byte> junk_;  // what the rest of a run stands for; each core touches a stretch of it
  std::vector<uint64_t> sums_;   // what was read, so that reading is not dropped
};

// The stretch of `bytes` of memory that belongs to one of some cores, as the kernels of steps share their work: where
// it begins and where it ends. No two cores share a cache line.
inline std::pair<size_t, size_t> StretchOf(size_t core, size_t cores, size_t bytes) {
  const auto [begin, end] = EvenShare(static_cast<int64_t>((bytes + kCacheLineBytes - 1) / kCacheLineBytes),
                                      static_cast<int64_t>(core), static_cast<int64_t>(cores));
  return {std::min(static_cast<size_t>(begin) * kCacheLineBytes, bytes),
          std::min(static_cast<size_t>(end) * kCacheLineBytes, bytes)};
}

}  // namespace pt
