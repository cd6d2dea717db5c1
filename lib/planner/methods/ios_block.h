// The stages of a block by IOS's dynamic programme over endings: see ios.cc.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pt {

inline constexpr size_t kLongestIosBlock = 20;  // groups

using GroupSet = uint32_t;  // of the groups of a block

// Groups that one kernel can run as a stage of their own.
struct IosMerge {
  GroupSet groups = 0;
  int64_t ns = 0;
  friend auto operator<=>(const IosMerge&, const IosMerge&) = default;
};

// What a group asks of a device whose streams share it; 0 of one that it has to itself.
struct IosDemand {
  uint32_t device = 0;
  double share = 0;
  friend auto operator<=>(const IosDemand&, const IosDemand&) = default;
};

// What the times of stages depend on. Groups in legal order.
struct IosBlock {
  size_t streams = 1;
  int64_t wait_ns = 0;  // of one stream for another
  std::vector<int64_t> ns;
  std::vector<IosDemand> demand;
  std::vector<GroupSet> readers;  // within the block
  std::vector<IosMerge> merges;
  friend auto operator<=>(const IosBlock&, const IosBlock&) = default;
};

// By group: its stage, and its stream in that or the merge that the stage is (kNothing: none).
struct IosStages {
  std::vector<uint32_t> stage, stream, merge;
};

// The stages whose times add up to the least. A stage takes as long as the longest of its connected parts, which run
// side by side and slow each other down where they ask for more than a device has; all but the longest in a stream that
// waits for what comes before, and for which what comes behind waits. Or it takes as long as the kernel that runs all
// of its groups as one, if there is one and it is faster.
IosStages SolveIosBlock(const IosBlock& block);

}  // namespace pt
