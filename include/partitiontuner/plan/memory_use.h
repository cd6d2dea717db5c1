// How much of its arenas a plan uses over time, as its timeline is expected to go or as a run went.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "partitiontuner/plan/plan.h"

namespace pt {

// When a step runs, in ns since the start of its run.
struct StepTime {
  int64_t start_ns = 0, end_ns = 0;
};
// By step: as the plan expects it.
std::vector<StepTime> ExpectedTimes(const Plan& plan);

struct MemoryUse {
  uint64_t peak_bytes = 0;                             // at one time; at most the arena's bytes
  std::vector<std::pair<int64_t, uint64_t>> bytes_at;  // (ns since the start, bytes from then on), ascending
};

// By device with an arena. A tensor counts from the start of the step that makes it to the end of the last one that
// reads it (one that nothing reads to the end of the plan), scratch during its step; bytes that several share count
// once. Tensors that callers lend and weights are not in arenas. The plan must be sane: ids in range.
std::map<DeviceId, MemoryUse> MemoryUseOf(const Plan& plan);
// The same of a run in which the steps had these times, one for each, and which ended at `end_ns`.
std::map<DeviceId, MemoryUse> MemoryUseOf(const Plan& plan, std::span<const StepTime> times, int64_t end_ns);

}  // namespace pt
