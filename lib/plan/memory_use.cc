#include "partitiontuner/plan/memory_use.h"

#include <algorithm>
#include <limits>

#include "lib/plan/work.h"

namespace pt {
namespace {

using Life = StepTime;

// From the first step that makes each instance to the last one that reads it.
std::vector<Life> LivesOfInstances(const Plan& plan, std::span<const StepTime> times, int64_t end_ns) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  std::vector<Life> lives(plan.instances.size(), {kNever, -1});
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for (const InstanceId id : ReadsOf(plan.steps[s].work)) {
      lives[id.index()].end_ns = std::max(lives[id.index()].end_ns, times[s].end_ns);
    }
    for (const InstanceId id : WritesOf(plan.steps[s].work)) {
      lives[id.index()].start_ns = std::min(lives[id.index()].start_ns, times[s].start_ns);
    }
  }
  for (Life& life : lives) {
    if (life.start_ns == kNever) life.start_ns = 0;
    if (life.end_ns < 0) life.end_ns = std::max(life.start_ns, end_ns);
  }
  return lives;
}

struct PlacedLife {
  Life life;
  uint64_t offset = 0, bytes = 0;
};

MemoryUse UseOfArena(const std::vector<PlacedLife>& blocks) {
  std::vector<uint64_t> borders;  // between two of them all bytes are alike
  for (const PlacedLife& block : blocks) borders.insert(borders.end(), {block.offset, block.offset + block.bytes});
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  struct Change {
    int64_t at_ns;
    int by;
    const PlacedLife* block;
  };
  std::vector<Change> changes;
  for (const PlacedLife& block : blocks) {
    changes.push_back({block.life.start_ns, 1, &block});
    changes.push_back({block.life.end_ns, -1, &block});
  }
  // What ends makes room for what begins at the same time; what lives for no time is never seen.
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::pair(a.at_ns, a.by) < std::pair(b.at_ns, b.by);
  });
  MemoryUse use;
  std::vector<uint32_t> users(borders.size(), 0);
  uint64_t bytes = 0;
  for (const Change& change : changes) {
    const auto first = std::lower_bound(borders.begin(), borders.end(), change.block->offset) - borders.begin();
    for (auto i = static_cast<size_t>(first); borders[i] < change.block->offset + change.block->bytes; ++i) {
      const bool was_used = users[i] > 0;
      users[i] += static_cast<uint32_t>(change.by);
      if (was_used == (users[i] > 0)) continue;
      const uint64_t size = borders[i + 1] - borders[i];
      bytes = was_used ? bytes - size : bytes + size;
    }
    use.peak_bytes = std::max(use.peak_bytes, bytes);
    if (use.bytes_at.empty() || use.bytes_at.back().first != change.at_ns) use.bytes_at.emplace_back(change.at_ns, 0);
    use.bytes_at.back().second = bytes;
  }
  return use;
}

}  // namespace

std::vector<StepTime> ExpectedTimes(const Plan& plan) {
  std::vector<StepTime> times;
  for (const Step& step : plan.steps) {
    times.push_back({step.expected_start_ns, step.expected_start_ns + step.expected_ns});
  }
  return times;
}

std::map<DeviceId, MemoryUse> MemoryUseOf(const Plan& plan) {
  return MemoryUseOf(plan, ExpectedTimes(plan), plan.makespan.ns);
}

std::map<DeviceId, MemoryUse> MemoryUseOf(const Plan& plan, std::span<const StepTime> times, int64_t end_ns) {
  const std::vector<Life> lives = LivesOfInstances(plan, times, end_ns);
  std::map<DeviceId, MemoryUse> uses;
  for (const auto& [device, arena] : plan.memory) {
    std::vector<PlacedLife> blocks;
    const auto add = [&](const Life& life, uint64_t offset, uint64_t bytes) {
      if (bytes > 0 && life.start_ns < life.end_ns) blocks.push_back({life, offset, bytes});
    };
    for (const Placement& placement : arena.placements) {
      add(lives[placement.instance.index()], placement.offset, placement.bytes);
    }
    for (const ScratchPlacement& scratch : arena.scratch) {
      add(times[scratch.step.index()], scratch.offset, scratch.bytes);
    }
    if (!blocks.empty()) uses[device] = UseOfArena(blocks);
  }
  return uses;
}

}  // namespace pt
