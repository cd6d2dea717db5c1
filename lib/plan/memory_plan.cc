#include "partitiontuner/plan/memory_plan.h"

#include <algorithm>
#include <queue>
#include <set>

#include "lib/plan/buffers.h"
#include "partitiontuner/support/alignment.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

// What lies on one memory node must not share a page with what lies on another: the largest usual page.
constexpr uint64_t kNodeAlignment = 64 << 10;
// Greedy placement looks at all pairs of blocks that meet; beyond this many blocks one sweep has to do.
constexpr size_t kGreedyBlocks = 3000;

// A run of bytes that must not overlap with another while both are in use.
struct Block {
  DeviceId device;
  std::optional<uint32_t> home = {};  // the memory node of the units that write it
  uint64_t bytes = 0, offset = 0;     // bytes: rounded up to the alignment
  std::vector<StepId> accesses;
  std::vector<uint32_t> write_clock;  // by lane: how many of its steps are over before the first write
  size_t first = 0, last = 0;         // accesses by step index
  size_t window = 0;                  // every step before this index is over before the first write
};

// Blocks by the steps [window, last] they may be in use at: a segment tree for those that cover a step, and
// lists for those that begin within a range.
class BlocksInUse {
 public:
  explicit BlocksInUse(size_t steps) : begin_(steps + 1) {
    while (leaves_ < steps + 1) leaves_ *= 2;
    covering_.resize(2 * leaves_);
  }

  void Insert(uint32_t block, size_t from, size_t to) {
    begin_[from].push_back(block);
    size_t low = from + leaves_;
    size_t high = to + leaves_ + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low & 1) covering_[low++].push_back(block);
      if (high & 1) covering_[--high].push_back(block);
    }
  }

  template <typename F>
  void ForEachMeeting(size_t from, size_t to, F visit) const {
    for (size_t node = from + leaves_; node > 0; node /= 2) {
      for (uint32_t block : covering_[node]) visit(block);
    }
    for (size_t step = from + 1; step <= to; ++step) {
      for (uint32_t block : begin_[step]) visit(block);
    }
  }

 private:
  size_t leaves_ = 1;
  std::vector<std::vector<uint32_t>> covering_, begin_;
};

// Free ranges of an arena that grows at its end.
class FreeRanges {
 public:
  // From the smallest range that is large enough, else at the end.
  uint64_t Take(uint64_t bytes) {
    const auto found = by_size_.lower_bound({bytes, 0});
    if (found == by_size_.end()) {
      // A last range that touches the end only needs the rest.
      const bool touches = !by_offset_.empty() && by_offset_.rbegin()->first + by_offset_.rbegin()->second == end_;
      const uint64_t offset = touches ? by_offset_.rbegin()->first : end_;
      if (touches) Remove(offset);
      end_ = offset + bytes;
      return offset;
    }
    const auto [size, offset] = *found;
    Remove(offset);
    if (size > bytes) Insert(offset + bytes, size - bytes);
    return offset;
  }

  void Return(uint64_t offset, uint64_t bytes) {
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      Remove(next->first);
    }
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      const auto [previous, size] = *std::prev(after);
      if (previous + size == offset) {
        Remove(previous);
        offset = previous;
        bytes += size;
      }
    }
    Insert(offset, bytes);
  }

 private:
  void Insert(uint64_t offset, uint64_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.emplace(bytes, offset);
  }
  void Remove(uint64_t offset) {
    by_size_.erase({by_offset_.at(offset), offset});
    by_offset_.erase(offset);
  }

  std::map<uint64_t, uint64_t> by_offset_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // bytes, offset
  uint64_t end_ = 0;
};

class Arranger {
 public:
  explicit Arranger(const HappensBefore& order) : order_(order), lane_steps_(order.lane_count()) {
    for (size_t s = 0; s < order.size(); ++s) lane_steps_[order.lane(StepId(s))].push_back(s);
  }

  void Finish(Block& block, const std::vector<StepId>& writers) const {
    block.write_clock.assign(order_.lane_count(), UINT32_MAX);
    for (StepId writer : writers) {
      const std::span<const uint32_t> clock = order_.clock(writer);
      for (size_t lane = 0; lane < clock.size(); ++lane)
        block.write_clock[lane] = std::min(block.write_clock[lane], clock[lane]);
    }
    const auto [first, last] = std::minmax_element(block.accesses.begin(), block.accesses.end());
    block.first = first->index();
    block.last = last->index();
    block.window = block.first;
    for (size_t lane = 0; lane < lane_steps_.size(); ++lane) {
      const std::vector<size_t>& steps = lane_steps_[lane];
      const auto open = std::partition_point(steps.begin(), steps.end(), [&](size_t step) {
        return order_.position(StepId(step)) < block.write_clock[lane];
      });
      if (open != steps.end()) block.window = std::min(block.window, *open);
    }
  }

  // Every access of a is over before the first write of b.
  bool OverBefore(const Block& a, const Block& b) const {
    if (a.last >= b.first) return false;
    return a.last < b.window || std::all_of(a.accesses.begin(), a.accesses.end(), [&](StepId access) {
             return order_.position(access) < b.write_clock[order_.lane(access)];
           });
  }

  // The blocks of each memory node together, one node after the other: a page lies on one node.
  Status PlaceAll(std::vector<Block>& blocks, DeviceId device) const {
    std::set<std::optional<uint32_t>> homes;
    for (const Block& block : blocks) {
      if (block.device == device) homes.insert(block.home);
    }
    uint64_t base = 0;
    for (const std::optional<uint32_t>& home : homes) {
      PT_CHECK_OK(Place(blocks, device, home));
      uint64_t end = base;
      for (Block& block : blocks) {
        if (block.device != device || block.home != home) continue;
        block.offset += base;
        end = std::max(end, block.offset + block.bytes);
      }
      base = (end + kNodeAlignment - 1) / kNodeAlignment * kNodeAlignment;
    }
    return {};
  }

 private:
  // Each block into the smallest gap that the blocks in use beside it leave. No order of blocks is best for all
  // plans: largest first, longest in use first and earliest first are tried.
  Status Place(std::vector<Block>& blocks, DeviceId device, const std::optional<uint32_t>& home) const {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].bytes > (uint64_t{1} << 62) / (blocks.size() + 1)) {
        return MakeError(ErrorCode::kOutOfMemory, "plan.memory", "the memory of the plan does not fit 62 bits");
      }
      if (blocks[i].device == device && blocks[i].home == home && blocks[i].bytes > 0) order.push_back(i);
    }
    std::vector<uint64_t> best;
    uint64_t best_end = UINT64_MAX;
    const auto attempt = [&](auto precedes) {
      std::stable_sort(order.begin(), order.end(),
                       [&](uint32_t a, uint32_t b) { return precedes(blocks[a], blocks[b]); });
      const uint64_t end = PlaceInOrder(blocks, order);
      if (end >= best_end) return;
      best_end = end;
      best.clear();
      for (const Block& block : blocks) best.push_back(block.offset);
    };
    if (order.size() > kGreedyBlocks) {
      PlaceBySweep(blocks, order);
      return {};
    }
    attempt([](const Block& a, const Block& b) { return a.bytes > b.bytes; });
    attempt([](const Block& a, const Block& b) { return a.last - a.first > b.last - b.first; });
    attempt([](const Block& a, const Block& b) { return a.first < b.first; });
    for (uint32_t i : order) blocks[i].offset = best[i];
    return {};
  }

  uint64_t PlaceInOrder(std::vector<Block>& blocks, const std::vector<uint32_t>& order) const {
    BlocksInUse in_use(order_.size());
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    uint64_t end = 0;
    for (uint32_t i : order) {
      Block& block = blocks[i];
      taken.clear();
      in_use.ForEachMeeting(block.window, block.last, [&](uint32_t other) {
        if (OverBefore(blocks[other], block) || OverBefore(block, blocks[other])) return;
        taken.emplace_back(blocks[other].offset, blocks[other].offset + blocks[other].bytes);
      });
      block.offset = SmallestGap(taken, block.bytes);
      end = std::max(end, block.offset + block.bytes);
      in_use.Insert(i, block.window, block.last);
    }
    return end;
  }

  // Blocks in the order of their first use, from a list of free ranges to which blocks return when they are over
  // before whatever is still to come. N log N.
  void PlaceBySweep(std::vector<Block>& blocks, std::vector<uint32_t> order) const {
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return blocks[a].first < blocks[b].first; });
    std::vector<size_t> still_open(order.size());  // every step before it is over before all blocks from here on
    for (size_t i = order.size(); i-- > 0;) {
      still_open[i] = std::min(blocks[order[i]].window, i + 1 < order.size() ? still_open[i + 1] : SIZE_MAX);
    }
    using Last = std::pair<size_t, uint32_t>;
    std::priority_queue<Last, std::vector<Last>, std::greater<>> in_use;
    FreeRanges free;
    for (size_t i = 0; i < order.size(); ++i) {
      while (!in_use.empty() && in_use.top().first < still_open[i]) {
        const Block& over = blocks[in_use.top().second];
        free.Return(over.offset, over.bytes);
        in_use.pop();
      }
      Block& block = blocks[order[i]];
      block.offset = free.Take(block.bytes);
      in_use.emplace(block.last, order[i]);
    }
  }

  static uint64_t SmallestGap(std::vector<std::pair<uint64_t, uint64_t>>& taken, uint64_t bytes) {
    std::sort(taken.begin(), taken.end());
    uint64_t end = 0;
    uint64_t best = UINT64_MAX;
    uint64_t best_size = UINT64_MAX;
    for (const auto& [from, to] : taken) {
      if (from > end && from - end >= bytes && from - end < best_size) {
        best = end;
        best_size = from - end;
      }
      end = std::max(end, to);
    }
    return best == UINT64_MAX ? end : best;
  }

  const HappensBefore& order_;
  std::vector<std::vector<size_t>> lane_steps_;  // by lane: steps that have it as their first
};

// The memory node that all these steps run at, if there is one.
std::optional<uint32_t> HomeOf(const Platform& platform, const Plan& plan, const std::vector<StepId>& steps) {
  std::optional<uint32_t> home;
  for (StepId step : steps) {
    const std::optional<uint32_t> node = HomeNode(platform, plan.steps[step.index()].unit);
    if (!node || (home && home != node)) return std::nullopt;
    home = node;
  }
  return home;
}

Result<uint64_t> Aligned(uint64_t bytes) {
  const std::optional<uint64_t> aligned = CheckedAlignUp(bytes, kTensorAlignment);
  if (!aligned) return MakeError(ErrorCode::kOutOfMemory, "plan.memory", "a tensor's size does not fit 64 bits");
  return *aligned;
}

}  // namespace

Status PlanMemory(const Graph& graph, const Platform& platform, Plan& plan,
                  const std::map<DeviceId, uint64_t>& cap_bytes) {
  plan.memory.clear();
  const HappensBefore order(platform, plan);
  PT_ASSIGN(BufferPlan shared, ShareBuffers(graph, plan, order));

  const Arranger arranger(order);
  std::vector<Block> blocks;
  for (Buffer& buffer : shared.buffers) {
    Block block;
    block.device = buffer.device;
    PT_ASSIGN(block.bytes, Aligned(buffer.bytes));
    block.accesses = std::move(buffer.accesses);
    block.home = HomeOf(platform, plan, buffer.writers);
    arranger.Finish(block, buffer.writers);
    blocks.push_back(std::move(block));
  }
  const size_t first_scratch = blocks.size();
  std::vector<StepId> scratch_steps;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const auto* group = std::get_if<RunGroup>(&plan.steps[s].work);
    if (group == nullptr) continue;
    const uint64_t bytes = plan.candidates[group->candidate.index()].scratch_bytes;
    if (bytes == 0) continue;
    Block block;
    block.device = platform.device_of(plan.steps[s].unit);
    PT_ASSIGN(block.bytes, Aligned(bytes));
    block.accesses = {StepId(s)};
    block.home = HomeOf(platform, plan, block.accesses);
    arranger.Finish(block, block.accesses);
    blocks.push_back(std::move(block));
    scratch_steps.push_back(StepId(s));
  }

  for (size_t d = 0; d < platform.devices.size(); ++d) PT_CHECK_OK(arranger.PlaceAll(blocks, DeviceId(d)));
  for (const Block& block : blocks) {
    Arena& arena = plan.memory[block.device];
    arena.bytes = std::max(arena.bytes, block.offset + block.bytes);
  }
  for (size_t i = 0; i < plan.instances.size(); ++i) {
    if (shared.buffer[i] == BufferPlan::kNowhere) continue;
    const Block& block = blocks[shared.buffer[i]];
    Arena& arena = plan.memory[block.device];
    const uint64_t offset = block.offset + shared.offset[i];
    // Parts of an empty tensor begin where the dims beside the empty one say: behind a block of no bytes.
    arena.bytes = std::max(arena.bytes, offset + shared.bytes[i]);
    arena.placements.push_back({InstanceId(i), offset, shared.bytes[i], std::move(shared.strides[i])});
  }
  for (size_t i = 0; i < scratch_steps.size(); ++i) {
    const Block& block = blocks[first_scratch + i];
    const auto* group = std::get_if<RunGroup>(&plan.steps[scratch_steps[i].index()].work);
    plan.memory[block.device].scratch.push_back(
        {scratch_steps[i], block.offset, plan.candidates[group->candidate.index()].scratch_bytes});
  }
  for (const auto& [device, arena] : plan.memory) {
    const auto cap = cap_bytes.find(device);
    if (cap == cap_bytes.end() || arena.bytes <= cap->second) continue;
    Error error = MakeError(ErrorCode::kOutOfMemory, "plan.memory",
                            "the plan needs " + std::to_string(arena.bytes) + " bytes where " +
                                std::to_string(cap->second) + " are allowed");
    error.device = platform.device(device).name;
    return error;
  }
  return {};
}

}  // namespace pt
