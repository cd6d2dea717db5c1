// Branches: the chains of nodes that partitiontuner plans one at a time, and their levels.
#pragma once

#include <vector>

#include "lib/planner/schedule/space.h"

namespace pt {

struct Branch {
  std::vector<NodeId> nodes;  // each but the first reads from the one before, and no other node does
  uint32_t level = 0;         // one more than the highest of those it reads from: none of a level needs another
};

// What becomes of a node that reads from several others: it begins a branch; or it goes on in the branch of the maker
// with which groups save most time, if there is such a group.
enum class JoinRule : uint8_t { kCut, kFuse };

// Every node in one branch, by level: makers' branches come first. Found by the walk back from the outputs.
std::vector<Branch> FindBranches(const Space& space, JoinRule joins);

}  // namespace pt
